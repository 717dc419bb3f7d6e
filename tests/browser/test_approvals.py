"""Calls that ask first: found and answered by keyboard, in several tabs, and without a script."""

from __future__ import annotations

import re
import threading

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from chat.demo.reply import Call, Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import (
    LIVE,
    at_rest,
    choose_profile,
    is_folded,
    is_open,
    last_turn,
    record,
    send,
    todo,
    turns,
    unfold,
    until,
)

ASKS = "Asks first"
# Which of the question's parts are not wholly in view, or covered.
UNSEEN = """() => {
    const frame = document.getElementById("scroll").getBoundingClientRect();
    const parts = [...document.querySelectorAll(".approval__question, .approval button, .approval textarea")];
    const isSeen = (part) => {
        const { top, bottom, left, right } = part.getBoundingClientRect();
        if (top < frame.top || bottom > frame.bottom || left < 0 || right > innerWidth) return false;
        return part.contains(document.elementFromPoint((left + right) / 2, (top + bottom) / 2));
    };
    if (parts.length < 5) return ["a part is missing"];
    return parts.filter((part) => !isSeen(part)).map((part) => part.outerHTML);
}"""


def bash(command: str) -> Call:
    return Call("bash", {"command": command})


def begin(page: Page, text: str = "do it") -> str:
    """Start a conversation with an agent that asks first; its address."""
    page.goto("/")
    choose_profile(page, ASKS)
    page.fill("#composer-text", text)
    page.press("#composer-text", "Enter")
    page.wait_for_url("**/conversations/*/")
    page.wait_for_selector(LIVE)
    return page.url


def question(page: Page) -> Locator:
    """The question on the card of the call that waits, as a screen reader finds it."""
    found = page.get_by_role("group", name="Allow this command?")
    expect(found).to_be_visible()
    return found


def press_enter_until_answered(page: Page, command: str) -> None:
    """An Enter right after the question came counts for nothing, so that none is answered by accident."""
    card = page.locator(".tool-call[data-status=waiting]", has_text=command)
    answers: list[str] = []
    page.on("request", lambda request: answers.append(request.url) if request.method == "POST" else None)

    def answered() -> bool:
        if not answers and card.locator(".approval:focus").count():
            page.keyboard.press("Enter")
        return card.count() == 0

    until(page, answered)


def test_one_answer_is_given_however_long_it_takes(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(tool_calls=[bash("echo first")]), Reply(text="Done."))
    page = visitors.enter(scripted)
    begin(page)
    held: list[Route] = []
    page.route("**/decide/", lambda route: held.append(route))
    question(page).get_by_role("button", name="Allow once").click()
    expect(question(page).get_by_role("button", name="Deny")).to_be_disabled()
    until(page, lambda: held)
    held.pop().continue_()
    at_rest(page)


# The card is drawn, and what is above the composer is not yet.
# No further frame comes, which could draw the question again.
DRAW_CARD = """(card) => {
    addEventListener("htmx:ws:before:message:incoming", (event) => {
        event.preventDefault();
        event.stopImmediatePropagation();
    }, true);
    card.dataset.status = "running";
    card.querySelector(".approval").remove();
}"""


def test_no_note_outlives_the_question(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(tool_calls=[bash("echo first")]), Reply(text="Done."))
    page = visitors.enter(scripted)
    begin(page)
    expect(question(page)).to_be_focused()
    page.locator(".tool-call[data-status=waiting]").evaluate(DRAW_CARD)
    expect(page.locator("#composer-text")).to_be_focused()
    expect(page.locator("#approval-note")).to_contain_text("echo first")
    expect(page.locator("#approval-note")).to_be_hidden()
    page.reload()
    expect(question(page)).to_be_focused()
    page.locator(".tool-call[data-status=waiting]").evaluate(DRAW_CARD)
    expect(page.locator("#composer-text")).to_be_focused()
    page.reload()
    question(page).get_by_role("button", name="Allow once").click()
    at_rest(page)


def test_the_keyboard_is_at_the_question_and_enter_allows(scripted: Site, visitors: Visitors) -> None:
    calls = [bash("echo first"), bash("echo second; true"), bash("echo third")]
    scripted.model.script(Reply(tool_calls=calls), Reply(text="Done."))
    page = visitors.enter(scripted)
    begin(page)
    expect(question(page)).to_be_focused()
    expect(page.locator("#approval-note")).to_contain_text("echo first")
    expect(page.locator("#approval-note")).to_be_hidden()  # the question is in view
    expect(page.locator("#sidebar .conversation-row").first).to_contain_text("Waiting for your answer")
    expect(page.locator("article.turn .turn__busy")).to_have_text("Waiting for your answer")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Allow once")).to_be_focused()
    page.keyboard.press("Tab")
    on = page.get_by_role("button", name="Allow echo in this conversation")
    expect(on).to_be_focused()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    press_enter_until_answered(page, "echo first")

    expect(question(page)).to_be_focused()  # the next one
    expect(page.get_by_role("button", name="Allow this exact command in this conversation")).to_be_visible()
    reason = page.get_by_role("textbox", name="Reason (shown to the agent)")
    reason.fill("No more of these")
    page.keyboard.press("Escape")
    expect(page.locator("#composer-text")).to_be_focused()
    expect(page.locator("#stop-hint")).to_have_text("Press Escape again to stop")
    reason.press("Enter")
    denied = page.locator(".tool-call[data-status=denied]")
    expect(denied.locator("summary")).to_contain_text("No more of these")

    page.get_by_role("button", name="Allow echo in this conversation").press("Enter")
    at_rest(page)
    expect(page.locator("#composer-text")).to_be_focused()
    expect(page.locator(".tool-call:visible")).to_have_count(1)  # the denied one; the others are folded
    expect(page.locator(".tool-call[open]")).to_have_count(0)
    expect(page.locator("#approval-note")).to_be_hidden()
    assert [call.get_attribute("data-status") for call in page.locator(".tool-call").all()] == [
        "succeeded",
        "denied",
        "succeeded",
    ]
    live = record(page)
    page.reload()
    at_rest(page)
    assert record(page) == live


def test_whoever_types_is_not_disturbed_and_allows_nothing(scripted: Site, visitors: Visitors) -> None:
    gate = threading.Event()
    asking = Reply("I look first.\n\n" * 60, tool_calls=[bash("pwd")], stall_after=1, gate=gate)
    scripted.model.script(asking, Reply(text="Done."))
    page = visitors.enter(scripted)
    begin(page)
    page.fill("#composer-text", "and then")
    gate.set()
    question(page)
    expect(page.locator("#composer-text")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".follow-up")).to_contain_text("and then")
    question(page)
    page.locator("#scroll").hover()
    page.mouse.wheel(0, -9999)
    page.get_by_role("link", name="Show").click()
    expect(question(page)).to_be_focused()
    press_enter_until_answered(page, "pwd")
    at_rest(page)
    expect(last_turn(page)).to_contain_text("and then")


def test_an_attachment_and_what_is_pasted_are_for_the_composer(scripted: Site, visitors: Visitors) -> None:
    gate = threading.Event()
    asking = Reply("I look first.", tool_calls=[bash("pwd")], stall_after=1, gate=gate)
    scripted.model.script(asking)
    page = visitors.enter(scripted, permissions=["clipboard-read", "clipboard-write"])
    begin(page)
    page.set_input_files("#composer-files", {"name": "a.txt", "mimeType": "text/plain", "buffer": b"x"})
    expect(page.locator(".attached")).to_have_count(1)
    page.focus("#composer-text")
    gate.set()
    question(page)
    expect(page.locator("#composer-text")).to_be_focused()
    page.get_by_role("button", name="Remove a.txt").click()
    question(page).focus()
    page.evaluate("navigator.clipboard.writeText('Do not run that')")
    page.keyboard.press("Control+v")
    expect(page.locator("#composer-text")).to_have_value("Do not run that")
    page.keyboard.press("Enter")
    expect(page.locator(".follow-up")).to_contain_text("Do not run that")
    question(page)
    page.click("#stop")
    at_rest(page)


def test_a_reason_that_is_being_written_outlives_what_changes_around_it(
    scripted: Site, visitors: Visitors
) -> None:
    scripted.model.script(Reply(tool_calls=[bash("pwd")]), Reply(text="Done."))
    page, other = visitors.enter(scripted), visitors.enter(scripted)
    other.goto(begin(page))
    other.wait_for_selector(LIVE)
    page.get_by_role("textbox", name="Reason (shown to the agent)").type("Because")
    other.fill("#composer-text", "something else")
    other.press("#composer-text", "Enter")
    expect(page.locator(".follow-up")).to_contain_text("something else")
    page.keyboard.type(" of this")
    expect(page.get_by_role("textbox", name="Reason (shown to the agent)")).to_have_value("Because of this")
    page.get_by_role("button", name="Deny").click()
    at_rest(page)
    at_rest(other)
    assert record(page) == record(other)
    expect(other.locator(".tool-call[data-status=denied]")).to_contain_text("Because of this")


def test_a_reason_that_is_being_written_outlives_a_reload(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(tool_calls=[bash("pwd")]), Reply(text="Done."))
    page = visitors.enter(scripted)
    begin(page)
    reason = page.get_by_role("textbox", name="Reason (shown to the agent)")
    reason.type("Because of this")
    page.reload()
    expect(reason).to_have_value("Because of this")
    page.locator(".sidebar").get_by_role("link", name="Board").click()
    expect(page.get_by_role("heading", name="Board")).to_be_visible()
    expect(reason).to_have_value("Because of this")
    reason.fill("Rather because of that")
    page.reload()
    expect(reason).to_have_value("Rather because of that")
    page.get_by_role("button", name="Deny").click()
    page.go_back()
    expect(page.locator(".tool-call[data-status=denied]")).to_contain_text("Rather because of that")


def test_who_writes_a_reason_is_not_led_to_the_next_question(scripted: Site, visitors: Visitors) -> None:
    """Another tab answers meanwhile: what is typed on is no message, and its Enter allows nothing."""
    scripted.model.script(
        Reply(tool_calls=[bash("pwd"), bash("date")]), Reply(text="Done."), Reply(text="Never asked for.")
    )
    page, other = visitors.enter(scripted), visitors.enter(scripted)
    other.goto(begin(page))
    page.get_by_role("textbox", name="Reason (shown to the agent)").type("Because")
    question(other)
    other.get_by_role("button", name="Allow once").click()
    expect(page.locator(".tool-call[data-status='waiting']", has_text="date")).to_be_visible()
    expect(page.locator(".tool-call summary:focus")).to_have_count(1)
    expect(page.locator(".approval:focus")).to_have_count(0)
    page.keyboard.type(" of this")
    page.keyboard.press("Enter")
    expect(page.locator("#composer-text")).to_have_value("")
    expect(page.locator(".tool-call[data-status='waiting']", has_text="date")).to_be_visible()
    other.get_by_role("button", name="Deny").click()
    at_rest(page)
    expect(page.locator(".tool-call[data-status='denied']", has_text="date")).to_have_count(1)
    expect(turns(page)).to_have_count(1)


def test_a_folded_call_says_why_it_was_denied(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(tool_calls=[bash("rm *")]), Reply(text="I keep them."))
    page = visitors.enter(scripted)
    begin(page)
    question(page)
    page.get_by_placeholder("Reason (optional)").fill("Keep the old ones")
    page.get_by_role("button", name="Deny").click()
    at_rest(page)
    for _look in range(2):
        call = page.locator(".tool-call:not([open])[data-status=denied]")
        state = call.locator("summary .tool-call__state")
        expect(state).to_have_text("Denied: Keep the old ones")
        expect(state).to_be_in_viewport(ratio=1)
        page.reload()
        at_rest(page)
    call.locator("summary").click()
    expect(page.locator(".decision__reason")).to_have_text("Keep the old ones")
    expect(page.locator(".tool-call__reason")).to_be_hidden()


def test_a_reload_asks_again(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(tool_calls=[bash("pwd")]), Reply(text="Done."))
    page = visitors.enter(scripted)
    begin(page)
    question(page)
    page.reload()
    expect(question(page)).to_be_focused()
    page.get_by_role("button", name="Allow once").click()
    at_rest(page)
    expect(page.locator(".tool-call[data-status=succeeded]")).to_have_count(1)


def test_a_question_is_in_view_on_a_small_screen(scripted: Site, visitors: Visitors) -> None:
    """At 200 % of 1280 x 720 and on a narrow phone; with a long plan, held messages, a long draft, or all."""
    answer = threading.Event()
    plan = todo("in_progress", *["pending"] * 19, text="First the plan.")
    scripted.model.script(plan, Reply(tool_calls=[bash("pwd")]), Reply("Done.", stall_after=1, gate=answer))
    page = visitors.enter(scripted, viewport={"width": 640, "height": 360})
    address = begin(page)

    def in_view() -> None:
        until(page, lambda: not page.evaluate(UNSEEN))
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    question(page)
    for width, height in ((640, 360), (320, 640)):
        page.set_viewport_size({"width": width, "height": height})
        page.goto(address)
        page.wait_for_selector(LIVE)
        is_folded(page)
        in_view()
    for text in ("Look at the other folder too", "and do not forget the changelog"):
        page.fill("#composer-text", text)
        page.press("#composer-text", "Enter")
        expect(page.locator(".follow-up", has_text=text)).to_have_count(1)
    page.fill("#composer-text", "A long draft of what is to be done next.\n" * 30)
    in_view()
    expect(page.locator("#send")).to_be_in_viewport(ratio=1)
    page.locator("#todo-panel > summary").click()
    is_open(page)
    in_view()
    page.set_viewport_size({"width": 640, "height": 360})
    page.reload()
    page.wait_for_selector(LIVE)
    is_open(page)  # as the user left it
    in_view()
    page.get_by_role("button", name="Allow once").click()
    expect(page.locator("#conversation")).to_have_attribute("data-status", "running")
    is_open(page)
    box = page.locator("#scroll").bounding_box()
    assert box is not None
    assert box["height"] > 120, "with the plan open there is still something to read"
    answer.set()
    at_rest(page)


def test_enter_allows_only_what_has_been_in_view(scripted: Site, visitors: Visitors) -> None:
    lines = "\n".join(f"echo {number}" for number in range(12))
    scripted.model.script(Reply(tool_calls=[bash(lines)]), Reply("Done."))
    page = visitors.enter(scripted, viewport={"width": 640, "height": 400})
    begin(page)
    expect(question(page)).to_be_focused()
    expect(question(page)).to_have_accessible_description(re.compile("^echo 0"))
    given = page.locator(".tool-call[data-status=waiting] pre")
    until(page, lambda: given.evaluate("pre => pre.getBoundingClientRect().top") < 0)
    until(
        page,
        lambda: page.keyboard.press("Enter") or given.evaluate("pre => pre.getBoundingClientRect().top") > 0,
    )
    expect(question(page)).to_be_focused()
    press_enter_until_answered(page, "echo 0")
    at_rest(page)


def test_after_a_tap_on_allow_the_card_folds_at_once(scripted: Site, visitors: Visitors) -> None:
    """Not at the next tap, which would miss what moves."""
    calls = [Reply(tool_calls=[bash("pwd")]), Reply(tool_calls=[bash("date")])]
    scripted.model.script(*calls, Reply(text="Done."), Reply(text="Done once more."))
    viewport = {"width": 390, "height": 844}
    page = visitors.enter(scripted, viewport=viewport, has_touch=True, is_mobile=True)
    page.goto("/")
    choose_profile(page, ASKS)
    page.fill("#composer-text", "do it")
    page.tap("#send")
    for command in ("pwd", "date"):
        waiting = page.locator(".tool-call[data-status='waiting']", has_text=command)
        waiting.get_by_role("button", name="Allow once").tap()
    at_rest(page)
    for command in ("pwd", "date"):
        expect(page.locator(".tool-call", has_text=command)).to_be_hidden()
    page.get_by_role("button", name="Run again").tap()
    expect(last_turn(page, "completed")).to_contain_text("Done once more.")


def test_a_double_tap_answers_one_question(scripted: Site, visitors: Visitors) -> None:
    """The next one comes under the finger."""
    asks = [Reply(tool_calls=[bash(f"echo {number}; true")]) for number in range(4)]
    scripted.model.script(*asks, Reply(text="Done."))
    page = visitors.enter(scripted, viewport={"width": 390, "height": 500})
    begin(page)
    page.clock.set_fixed_time("2026-01-01T12:00:00Z")
    posts: list[str] = []
    page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    waiting = page.locator(".tool-call[data-status=waiting]")
    waiting.get_by_role("button", name="Allow once").click()  # higher up in the window than those that follow
    expect(waiting).to_contain_text("echo 1")
    place = waiting.get_by_role("button", name="Allow once").bounding_box()
    assert place
    spot = (place["x"] + 20, place["y"] + 9)
    under = (
        "spot => document.elementFromPoint(...spot).closest('.tool-call[data-status=waiting] button')?.value"
    )
    page.clock.set_fixed_time("2026-01-01T12:00:02Z")
    page.mouse.click(*spot)
    expect(waiting).to_contain_text("echo 2")
    until(page, lambda: page.evaluate(under, spot) == "once")
    page.mouse.click(*spot)
    page.evaluate("fetch('/healthz').then(() => 0)")  # what the click sends comes before
    assert len(posts) == 2
    page.clock.set_fixed_time("2026-01-01T12:00:03Z")
    page.mouse.click(*spot)
    expect(waiting).to_contain_text("echo 3")
    assert len(posts) == 3


def test_stop_works_while_it_waits(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(tool_calls=[bash("pwd")]))
    page = visitors.enter(scripted)
    begin(page)
    question(page)
    page.click("#stop")
    at_rest(page)
    last_turn(page, "stopped")
    expect(page.locator(".approval")).to_have_count(0)


def test_who_is_second_is_told_what_was_decided(scripted: Site, visitors: Visitors) -> None:
    """The second tab's line is cut, so it still shows the question; its answer goes another way."""
    scripted.model.script(Reply(tool_calls=[bash("pwd")]), Reply(text="Done."))
    page, other = visitors.enter(scripted), visitors.enter(scripted)
    address = begin(page)
    question(page)
    other.route_web_socket("**/ws/**", lambda socket: None)  # a tab that hears of nothing
    other.goto(address)
    question(other)
    page.get_by_role("button", name="Deny").click()
    at_rest(page)
    visitors.expected.append("status of 409 (Conflict)")
    other.get_by_role("button", name="Allow once").click()
    expect(other.locator("#composer-note")).to_have_text("Already answered: Denied by you.")


def test_the_same_command_runs_again_without_asking(scripted: Site, visitors: Visitors) -> None:
    calls = [bash("true && echo a"), bash("true && echo a"), bash("true && echo b")]
    scripted.model.script(Reply(tool_calls=calls), Reply(text="Done."))
    page = visitors.enter(scripted)
    begin(page)
    question(page).get_by_role("button", name="Allow this exact command in this conversation").click()
    waiting = page.locator(".tool-call[data-status=waiting]")
    expect(waiting).to_contain_text("echo b")
    question(page).get_by_role("button", name="Deny").click()
    expect(page.locator("article.turn")).to_contain_text("Done.")
    decisions = page.locator(".decision").evaluate_all("found => found.map(each => each.dataset.decision)")
    assert decisions == ["conversation", "covered", "denied"]


@pytest.mark.parametrize("decision", ["Allow once", "Deny"])
def test_without_a_script(scripted: Site, visitors: Visitors, decision: str) -> None:
    scripted.model.script(Reply(tool_calls=[bash("pwd")]), Reply(text="Done."))
    page = visitors.enter(scripted, java_script_enabled=False)
    page.goto("/")
    choose_profile(page, ASKS)
    page.fill("#composer-text", "do it")
    page.click("#send")
    page.wait_for_url("**/conversations/*/")
    until(page, lambda: page.reload() and page.locator(".approval").count())
    question(page)
    page.fill("textarea[name=reason]", "Not here")
    with page.expect_navigation():
        page.get_by_role("button", name=decision, exact=True).click()
    until(page, lambda: page.reload() and page.locator("article.turn[data-status=completed]").count())
    page.locator(".tool-call summary").click()
    said = "Not here" if decision == "Deny" else "Allowed by you"
    expect(page.locator(".tool-call .decision")).to_contain_text(said)


@pytest.mark.parametrize("width", [1280, 390])
def test_what_was_allowed_is_listed_and_withdrawn(scripted: Site, visitors: Visitors, width: int) -> None:
    writes = Reply(tool_calls=[Call("write_file", {"path": "a.txt", "content": "a"}), bash("echo yes")])
    page = visitors.enter(scripted, viewport={"width": width, "height": 800})
    scripted.model.script(writes, Reply(text="Done."))
    begin(page)
    for second, name in enumerate(("write_file", "echo")):
        page.clock.set_fixed_time(
            f"2026-01-01T12:00:0{2 * second}Z"
        )  # a second click at once counts for nothing
        page.get_by_role("button", name=f"Allow {name} in this conversation").click()
    at_rest(page)
    scripted.model.script(writes, Reply(text="Done again."))
    send(page, "once more")
    expect(last_turn(page, "completed")).to_contain_text("Done again.")
    unfold(page)
    card = last_turn(page).locator(".tool-call[data-tool=write_file]")
    card.locator("summary").click()
    expect(card.locator(".decision")).to_contain_text("Allowed by you earlier: write_file")
    card.locator(".decision").get_by_role("link", name="Change").click()
    dialog = page.locator("#turn-dialog")
    expect(dialog.get_by_role("listitem")).to_have_count(2)
    dialog.get_by_role("listitem").filter(has_text="write_file").get_by_role("button").click()
    expect(dialog.get_by_role("listitem")).to_have_count(1)
    expect(dialog.get_by_role("link", name="Close")).to_be_focused()
    dialog.get_by_role("link", name="Close").click()
    expect(dialog).to_be_hidden()
    scripted.model.script(writes, Reply(text="Done again."))
    send(page, "and again")
    expect(page.locator(".tool-call[data-status=waiting]")).to_contain_text("write_file")
    page.get_by_role("button", name="Conversation menu").click()
    page.get_by_role("link", name="Allowed in this conversation").click()
    expect(dialog.get_by_role("listitem")).to_have_text(re.compile("echo"))
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Conversation menu")).to_be_focused()
    until(page, lambda: page.evaluate("!history.state?.cover"))  # the dialog's entry is taken away
    page.goto(f"{page.url}allowances/")
    page.get_by_role("button", name="Ask each time").click()
    expect(page.get_by_role("main")).to_contain_text("Nothing.")
