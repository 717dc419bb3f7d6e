"""The board on one screen, the work on another: what is at work, asks, ends unseen, and is seen."""

from __future__ import annotations

import re
import threading
import uuid
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import CHANGING, TOPMOST, at_rest, begin, choose_profile, last_turn, todo, until
from tests.browser.test_approvals import begin as begin_asking_first
from tests.browser.test_approvals import press_enter_until_answered

LIVE = "#connection[data-state='live']"
HIDE = """state => {
  Object.defineProperty(document, "visibilityState", { configurable: true, get: () => state });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def board_of(visitors: Visitors, site: Site, **options: object) -> Page:
    """A board on a screen of its own, with nothing that other tests left unseen."""
    page = visitors.enter(site, **options)
    page.goto("/board/")
    page.wait_for_selector(LIVE)
    everything = page.get_by_role("button", name="Mark all as read")
    if everything.count():
        everything.click()
    expect(rows(page, "unseen")).to_have_count(0)
    return page


def rows(page: Page, section: str) -> Locator:
    return page.locator(f"#board-{section} .board-row")


def shown(page: Page) -> list[str]:
    """The board as it stands, without its clocks and what htmx adds."""
    sections: list[str] = page.locator(".board__section").evaluate_all(
        """sections => sections.map((section) => {
          const copy = section.cloneNode(true);
          for (const clock of copy.querySelectorAll(".elapsed, [data-recent]")) clock.textContent = "";
          return copy.outerHTML;
        })"""
    )
    return [CHANGING.sub("", each) for each in sections]


def leave(page: Page) -> None:
    """Look at something else."""
    page.goto("/settings/preferences/")


def test_a_turn_is_followed_from_another_screen(scripted: Site, visitors: Visitors) -> None:
    gate = threading.Event()
    scripted.model.script(
        todo("completed", "in_progress", "pending"),
        Reply(text="I stop to ask: which one?", stall_after=1, gate=gate),
    )
    board = board_of(visitors, scripted)
    page = visitors.enter(scripted)
    address = begin(page, "Sort my notes")
    row = rows(board, "running").filter(has_text="Sort my notes")
    expect(row).to_have_attribute("data-status", "running")
    expect(row).to_contain_text("Doing 2")
    expect(row).to_contain_text("1/3")
    before = row.locator(".elapsed").inner_text()
    expect(row.locator(".elapsed")).not_to_have_text(before)  # the clock goes on
    leave(page)
    gate.set()
    row = rows(board, "unseen")
    expect(row).to_have_attribute("data-status", "completed")
    expect(row).to_contain_text("Ended · Next: ")
    expect(board).to_have_title("(1) Board")
    expect(board.locator("#board-link .count")).to_contain_text("1")
    expect(board.locator("#sidebar [data-unseen]")).to_contain_text("Sort my notes")
    page.goto(address)
    at_rest(page)
    expect(rows(board, "unseen")).to_have_count(0)
    expect(rows(board, "unfinished").filter(has_text="Sort my notes")).to_be_visible()
    expect(board).to_have_title("Board")
    expect(board.locator("#sidebar [data-unseen]")).to_have_count(0)
    live = shown(board)
    board.reload()
    board.wait_for_selector(LIVE)
    assert shown(board) == live
    board.set_viewport_size({"width": 1280, "height": 240})
    rows(board, "unfinished").filter(has_text="Sort my notes").get_by_role("button", name="Dismiss").click()
    expect(board.locator("#undo").get_by_role("button", name="Undo")).to_be_in_viewport(ratio=1)
    expect(rows(board, "unfinished").filter(has_text="Sort my notes")).to_have_count(0)
    board.locator("#undo").get_by_role("button", name="Undo").click()
    expect(board.get_by_role("heading", name="Running")).to_be_focused()
    expect(rows(board, "unfinished").filter(has_text="Sort my notes")).to_be_visible()
    expect(board.locator("#undo")).to_be_empty()
    text = rows(board, "unfinished").filter(has_text="Sort my notes").locator(".board-row__text")
    place = text.bounding_box()
    assert place
    board.mouse.click(place["x"] + place["width"] - 4, place["y"] + place["height"] / 2)
    expect(board.locator("#title")).to_contain_text("Sort my notes")


def test_a_double_click_dismisses_one_plan(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    for text in ("Sort my bills", "Sort my books", "Sort my boxes"):
        scripted.model.script(todo("in_progress", "pending"), Reply(text="Which?"))
        begin(page, text)
        at_rest(page)
    page.goto("/board/")
    expect(rows(page, "unfinished").first).to_contain_text(
        "Sort my boxes"
    )  # once it is said to have been seen
    dismissed, kept = (rows(page, "unfinished").nth(each).get_attribute("id") for each in (0, 1))
    first = rows(page, "unfinished").first.bounding_box()
    dismiss = rows(page, "unfinished").first.get_by_role("button", name="Dismiss").bounding_box()
    assert dismiss
    page.mouse.click(dismiss["x"] + 9, dismiss["y"] + 9, click_count=2, delay=50)
    expect(page.locator("#undo")).to_contain_text("Plan of “Sort my boxes” dismissed.")
    expect(page.locator(f"#{dismissed}")).to_have_count(0)
    expect(rows(page, "unfinished").first).to_have_id(str(kept))
    after = rows(page, "unfinished").first.bounding_box()
    assert first
    assert after
    assert after["y"] == first["y"], "the note takes no room above"
    expect(page.locator("#undo").get_by_role("button", name="Undo")).to_be_in_viewport(ratio=1)


def test_what_comes_under_the_pointer_is_not_pressed(scripted: Site, visitors: Visitors) -> None:
    """By a second click that the browser does not count as one, as it meets another row."""
    page = visitors.enter(scripted)
    for text in ("Sort my slides", "Sort my songs"):
        scripted.model.script(todo("in_progress", "pending"), Reply(text="Which?"))
        begin(page, text)
        at_rest(page)
    page.goto("/board/")
    expect(rows(page, "unfinished").first).to_contain_text(
        "Sort my songs"
    )  # once it is said to have been seen
    page.clock.set_fixed_time("2026-01-01T12:00:00Z")
    posts: list[str] = []
    page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    dismiss = rows(page, "unfinished").first.get_by_role("button", name="Dismiss")
    after = str(rows(page, "unfinished").nth(1).get_attribute("id"))
    before = dismiss.bounding_box()
    assert before
    page.mouse.click(before["x"] + 9, before["y"] + 9)
    expect(rows(page, "unfinished").first).to_have_id(after)
    assert dismiss.bounding_box() == before, "the next one has come under the pointer"
    page.mouse.click(before["x"] + 9, before["y"] + 9)
    page.evaluate("fetch('/healthz').then(() => 0)")  # what the click sends comes before
    assert len(posts) == 1
    page.clock.set_fixed_time("2026-01-01T12:00:02Z")
    page.mouse.click(before["x"] + 9, before["y"] + 9)
    until(page, lambda: len(posts) == 2)


def test_a_double_click_leaves_the_offer_to_undo(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted)
    scripted.model.script(todo("in_progress", "pending"), Reply(text="Which?"))
    begin(page, "Sort my notes")
    at_rest(page)
    dismiss = page.locator("#unfinished").get_by_role("button", name="Dismiss")
    dismiss.click()
    undo = page.locator("#undo")
    expect(undo).to_contain_text("Plan of “Sort my notes” dismissed.")
    undo.locator(".undo-note__close").hover()
    page.mouse.down(click_count=2)  # the second click of a double one
    page.mouse.up(click_count=2)
    expect(undo.get_by_role("button", name="Undo")).to_be_visible()
    undo.locator(".undo-note__close").click()
    expect(undo).to_be_empty()


def unfinished_below(page: Page, scripted: Site) -> Locator:
    """The last of the plans that a low board shows once it is scrolled down."""
    for text in ("Sort my notes", "Sort my files", "Sort my mail"):
        scripted.model.script(todo("in_progress", "pending"), Reply(text="Which?"))
        begin(page, text)
        at_rest(page)
    page.goto("/board/")
    page.wait_for_selector(LIVE)
    last = rows(page, "unfinished").last
    last.scroll_into_view_if_needed()
    assert page.locator("#board").evaluate("board => board.scrollTop") > 200
    return last


def test_back_leads_to_the_place_that_was_left(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted, viewport={"width": 390, "height": 400})
    last = unfinished_below(page, scripted)
    place = last.bounding_box()
    assert place
    last.get_by_role("link").first.click()
    at_rest(page)
    page.go_back()
    expect(page).to_have_title(re.compile("Board"))
    until(page, lambda: last.bounding_box() == place)


def test_what_was_not_done_is_said_in_view(scripted: Site, visitors: Visitors) -> None:
    page = visitors.enter(scripted, viewport={"width": 390, "height": 400})
    last = unfinished_below(page, scripted)
    page.context.set_offline(True)
    visitors.expected += [
        "ERR_INTERNET_DISCONNECTED",
        "Failed to fetch",
        "htmx:ws:error",
        "WebSocket connection",
    ]
    last.get_by_role("button", name="Dismiss").click()
    note = page.locator(".warning")
    expect(note).to_contain_text("Could not reach the server")
    expect(note).to_be_in_viewport(ratio=1)
    assert note.evaluate(TOPMOST)


def test_what_was_refused_leads_to_its_conversation(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(todo("in_progress", "pending"), Reply(text="Which?"))
    page = visitors.enter(scripted)
    address = begin(page, "Sort my notes")
    at_rest(page)
    key = urlsplit(address).path.split("/")[2]
    scripted.served.shell(
        "from chat.models import Conversation;"
        f"Conversation.objects.filter(pk='{key}').update(title='<b>Notes</b>', lost_model='tiny')"
    )
    page.goto("/board/")
    visitors.expected.append("status of 409 (Conflict)")
    row = page.locator(f"#board-{key}")
    row.get_by_role("button", name="Continue").click()
    note = page.locator("#act-note")
    expect(note).to_have_text(
        "<b>Notes</b>: The chosen model tiny is no longer available. Choose another one, then send again."
    )
    note.get_by_role("link", name="<b>Notes</b>").click()
    expect(page).to_have_url(address)
    expect(page.locator("#conversation")).to_be_visible()


def test_a_tab_in_the_background_sees_nothing(scripted: Site, visitors: Visitors) -> None:
    gate = threading.Event()
    scripted.model.script(Reply(text="Done at last.", stall_after=1, gate=gate))
    board = board_of(visitors, scripted)
    page = visitors.enter(scripted)
    begin(page, "Take your time")
    page.evaluate(HIDE, "hidden")
    gate.set()
    expect(rows(board, "unseen")).to_contain_text("Take your time")
    last_turn(page, "completed")
    expect(rows(board, "unseen")).to_have_count(1)
    page.evaluate(HIDE, "visible")
    expect(rows(board, "unseen")).to_have_count(0)


def test_who_watches_to_the_end_has_seen_it(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Paris."), Reply(text="Rome."))
    board = board_of(visitors, scripted)
    page = visitors.enter(scripted)
    begin(page, "The capital of France?")
    last_turn(page, "completed")
    at_rest(page)
    expect(rows(board, "unseen")).to_have_count(0)
    expect(rows(board, "running")).to_have_count(0)
    expect(page.locator("#sidebar [data-unseen]")).to_have_count(0)


def test_a_question_is_answered_on_the_board(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(
        Reply(tool_calls=[("bash", {"command": "rm -r build"})]), Reply(text="Then I leave it.")
    )
    board = board_of(visitors, scripted)
    page = visitors.enter(scripted)
    page.goto("/")
    choose_profile(page, "Asks first")
    page.fill("#composer-text", "Clean up")
    page.press("#composer-text", "Enter")
    page.wait_for_url("**/conversations/*/")
    leave(page)
    row = rows(board, "running").filter(has_text="Clean up")
    expect(row).to_have_attribute("data-status", "waiting")
    expect(row).to_contain_text("rm -r build")
    expect(board).to_have_title("(1) Board")
    row.get_by_placeholder("Reason (optional)").fill("Keep it")
    expect(row.locator(".approval:not([data-settling])")).to_be_visible()
    row.get_by_role("button", name="Deny").click()
    expect(rows(board, "unseen")).to_contain_text("Clean up")
    rows(board, "unseen").get_by_role("link", name="Clean up").click()
    expect(last_turn(board)).to_contain_text("Keep it")


def test_enter_answers_on_the_board_as_it_does_in_a_conversation(scripted: Site, visitors: Visitors) -> None:
    commands = [Reply(tool_calls=[("bash", {"command": command})]) for command in ("true", "false")]
    board = board_of(visitors, scripted)
    page = visitors.enter(scripted)
    scripted.model.script(*commands, Reply(text="Then not."))
    begin_asking_first(page, "Tidy my room")
    leave(page)
    row = rows(board, "running").filter(has_text="Tidy my room")
    question = row.locator(".approval")
    first = question.get_attribute("id")
    question.focus()
    press_enter_until_answered(board, "true")
    expect(question).not_to_have_id(str(first))
    reason = question.get_by_placeholder("Reason (optional)")
    reason.fill("Not today")
    reason.press("Enter")
    expect(rows(board, "unseen").filter(has_text="Tidy my room")).to_be_visible()
    rows(board, "unseen").get_by_role("link", name="Tidy my room").click()
    expect(last_turn(board)).to_contain_text("Denied: Not today")


def test_a_question_that_comes_under_the_finger_is_not_answered(scripted: Site, visitors: Visitors) -> None:
    asks = Reply(tool_calls=[("bash", {"command": "true"})])
    board = board_of(visitors, scripted, viewport={"width": 390, "height": 844})
    board.clock.set_fixed_time("2026-01-01T12:00:00Z")
    page = visitors.enter(scripted)
    for text in ("Tidy my desk", "Tidy my shelf"):
        scripted.model.script(asks)
        begin_asking_first(page, text)
        expect(rows(board, "running").filter(has_text=text)).to_have_attribute("data-status", "waiting")
        leave(page)
    waiting = board.locator("#board-running .board-row[data-status=waiting]")
    first = waiting.nth(0).get_by_role("link").first.inner_text()
    place = waiting.nth(0).get_by_role("button", name="Allow once").bounding_box()
    assert place
    board.clock.set_fixed_time("2026-01-01T12:00:01Z")
    scripted.model.script(Reply(text="The first is done."))
    posts: list[str] = []
    board.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    spot = (place["x"] + 20, place["y"] + 9)
    board.mouse.click(*spot)
    expect(waiting).to_have_count(1)
    expect(waiting).not_to_contain_text(first)
    beneath = "spot => document.elementFromPoint(...spot).closest('button')?.value"
    until(board, lambda: board.evaluate(beneath, spot) == "once")
    board.mouse.click(*spot)
    board.evaluate("fetch('/healthz').then(() => 0)")  # what the click sends comes before
    assert len(posts) == 1
    board.clock.set_fixed_time("2026-01-01T12:00:02Z")
    scripted.model.script(Reply(text="The second is done."))
    board.mouse.click(*spot)
    expect(waiting).to_have_count(0)
    assert len(posts) == 2


def test_a_question_comes_after_those_that_wait(scripted: Site, visitors: Visitors) -> None:
    """Also if its turn is older, and none is answered by who means what was there before."""
    board = board_of(visitors, scripted, viewport={"width": 390, "height": 844})
    board.clock.set_fixed_time("2026-01-01T12:00:00Z")
    page = visitors.enter(scripted)
    for text in ("Tidy my desk", "Tidy my shelf"):
        scripted.model.script(Reply(tool_calls=[("bash", {"command": f"echo {text}"})]))
        begin_asking_first(page, text)
        expect(rows(board, "running").filter(has_text=text)).to_have_attribute("data-status", "waiting")
        leave(page)
    waiting = board.locator("#board-running .board-row[data-status=waiting]")
    titles = waiting.get_by_role("link")
    expect(titles).to_have_text(["Tidy my desk", "Tidy my shelf"])
    posts: list[str] = []
    board.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    waiting.nth(1).get_by_role("button", name="Allow once").click()
    board.evaluate("fetch('/healthz').then(() => 0)")  # what the click sends comes before
    assert not posts, "it has just come"
    board.clock.set_fixed_time("2026-01-01T12:00:01Z")
    gate = threading.Event()
    scripted.model.script(
        Reply(text="So", piece=1, stall_after=2, gate=gate, tool_calls=[("bash", {"command": "echo again"})])
    )
    waiting.nth(0).get_by_role("button", name="Allow once").click()
    expect(titles).to_have_text(["Tidy my shelf"])
    board.clock.set_fixed_time("2026-01-01T12:00:03Z")
    allow = waiting.nth(0).get_by_role("button", name="Allow once")
    place = allow.bounding_box()
    gate.set()
    expect(titles).to_have_text(["Tidy my shelf", "Tidy my desk"])
    assert allow.bounding_box() == place
    scripted.model.script(Reply(text="The shelf is done."))
    allow.click()
    expect(titles).to_have_text(["Tidy my desk"])
    assert len(posts) == 2
    waiting.get_by_role("button", name="Deny").click()
    board.evaluate("fetch('/healthz').then(() => 0)")
    assert len(posts) == 2, "it has just moved"
    board.clock.set_fixed_time("2026-01-01T12:00:05Z")
    scripted.model.script(Reply(text="The desk is not."))
    waiting.get_by_role("button", name="Deny").click()
    expect(waiting).to_have_count(0)


def test_the_keyboard_stays_in_a_section_that_fills_again(scripted: Site, visitors: Visitors) -> None:
    board = board_of(visitors, scripted)
    page = visitors.enter(scripted)
    for question in ("The first", "The second"):
        gate = threading.Event()
        scripted.model.script(Reply(text="So far so good", stall_after=1, gate=gate))
        begin(page, question)
        leave(page)
        gate.set()
        expect(rows(board, "unseen")).to_contain_text(question)
        if question == "The first":
            board.get_by_role("button", name="Mark as read", exact=True).focus()
            board.keyboard.press("Enter")
            expect(rows(board, "unseen")).to_have_count(0)
        expect(board.get_by_role("heading", name="Unread")).to_be_focused()


def test_on_a_phone_nothing_is_cut_off(scripted: Site, visitors: Visitors) -> None:
    gate = threading.Event()
    asks = Reply(text="I stop to ask.", stall_after=1, gate=gate)
    scripted.model.script(todo("completed", "in_progress"), asks)
    board = board_of(visitors, scripted, viewport={"width": 390, "height": 844})
    page = visitors.enter(scripted)
    begin(page, "A title that is a good deal longer than a telephone is wide, as they often are")
    leave(page)
    gate.set()
    expect(rows(board, "unseen")).to_be_visible()
    for place in ("html", "#board"):
        assert board.locator(place).evaluate("place => place.scrollWidth <= innerWidth")


def test_marks_of_having_read_are_below_one_another(scripted: Site, visitors: Visitors) -> None:
    gate = threading.Event()
    half, whole = (Reply(text, stall_after=1, gate=gate) for text in ("Half.", "Whole."))
    board = board_of(visitors, scripted, viewport={"width": 390, "height": 844})
    page = visitors.enter(scripted)
    for replies in ([todo("completed", "pending"), half], [whole]):
        scripted.model.script(*replies)
        begin(page, "work on it")
        last_turn(page, "running")
        leave(page)
    gate.set()
    marks = rows(board, "unseen").get_by_role("button", name="Mark as read")
    expect(marks).to_have_count(2)
    assert len({round((mark.bounding_box() or {})["x"]) for mark in marks.all()}) == 1


def test_a_long_error_leaves_room_for_what_is_next(scripted: Site, visitors: Visitors) -> None:
    error = {"error": {"message": f"The request has {'quite ' * 60}too many words"}}
    scripted.model.script(todo("completed", "in_progress"), Reply(status=400, body=error))
    page = visitors.enter(scripted)
    begin(page, "Sort my letters")
    at_rest(page)
    page.goto("/board/")
    row = rows(page, "unfinished").filter(has_text="Sort my letters")
    expect(row).to_contain_text("quite quite")
    expect(row.locator(".board-row__left")).to_be_in_viewport(ratio=1)


def test_the_sidebar_marks_what_is_running(scripted: Site, visitors: Visitors) -> None:
    gate = threading.Event()
    scripted.model.script(Reply(text="One moment.", stall_after=1, gate=gate))
    elsewhere = board_of(visitors, scripted)
    page = visitors.enter(scripted)
    key = begin(page, "Count my notes").split("/")[-2]
    row = f"#sidebar [data-conversation='{key}']"
    for each in (elsewhere, page):
        running = each.locator(row).get_by_role("link", name=re.compile("^Running: Count my notes"))
        expect(running).to_be_visible()
        expect(each.locator(f"{row} .conversation-row__active")).to_be_visible()
    gate.set()
    at_rest(page)
    expect(elsewhere.locator(f"{row} .conversation-row__active")).to_have_count(0)
    expect(elsewhere.locator(row)).not_to_contain_text("Running")


@pytest.mark.parametrize("address", ["/", "/board/", "/settings/preferences/", "/conversations/"])
def test_on_every_page_the_sidebar_is_true(scripted: Site, visitors: Visitors, address: str) -> None:
    """The mark of a running turn, its plan and its title; also after a move without a page load."""
    gate = threading.Event()
    scripted.model.title = Reply(text="Notes in order")
    scripted.model.script(
        todo("in_progress", "pending"),
        todo("completed", "pending"),
        Reply(text="I stop to ask: which one?", stall_after=1, gate=gate),
    )
    page = visitors.enter(scripted)
    path = urlsplit(begin(page, "Sort my notes")).path
    page.goto("/settings/usage/")
    page.evaluate("address => navigation.navigate(address)", address)
    page.wait_for_url(f"{scripted.served.address}{address}")
    lists = ["#sidebar", "#found"] if address == "/conversations/" else ["#sidebar"]
    for place in lists:
        row = page.locator(f"{place} .conversation-row", has=page.locator(f"[href='{path}']"))
        expect(row).to_contain_text("1/2")
        expect(row.locator(".conversation-row__active")).to_have_attribute("data-status", "running")
    gate.set()
    for place in lists:
        row = page.locator(f"{place} .conversation-row", has=page.locator(f"[href='{path}']"))
        expect(row.locator(".conversation-row__unseen")).to_have_count(1)
        expect(row).to_contain_text("Notes in order")
    expect(page.locator("#board-link")).not_to_contain_text("running")
    here = "page" if address == "/board/" else None
    assert page.locator("#board-link").get_attribute("aria-current") == here


def test_a_message_on_its_way_from_the_first_page_is_not_sent_by_its_socket(
    scripted: Site, visitors: Visitors
) -> None:
    page = visitors.enter(scripted)
    page.goto("/")
    page.route(f"{scripted.served.address}/", lambda route: route.abort(), times=1)
    visitors.expected += ["ERR_FAILED", "Failed to fetch"]
    scripted.model.answer = lambda request: Reply("Yes.")
    text = f"Sent by {uuid.uuid4()}"
    page.fill("#composer-text", text)
    page.click("#send")
    expect(page.locator("#composer-note")).to_contain_text("Not sent yet.")
    page.add_init_script("HTMLFormElement.prototype.requestSubmit = () => (window.submitted = true)")
    with page.expect_websocket() as opened:
        page.goto("/")
    opened.value.wait_for_event("framereceived")
    expect(page.locator("#composer-text")).to_have_value("")
    expect(page.locator("#sidebar .conversation-row", has_text=text)).to_have_count(1)
    assert not page.evaluate("window.submitted")


def test_the_list_leaves_what_one_began_while_it_was_asked_for(scripted: Site, visitors: Visitors) -> None:
    gate = threading.Event()
    scripted.model.script(todo("in_progress", "pending"), Reply(text="I work", stall_after=1, gate=gate))
    page = visitors.enter(scripted)
    path = urlsplit(begin(page, "Sort my notes")).path
    expect(page.locator("#todo-panel")).to_be_visible()
    page.goto("/conversations/")
    row = page.locator("#found .conversation-row", has=page.locator(f"[href='{path}']"))
    expect(row).to_contain_text("0/2")
    asked: list[Route] = []
    page.route("**/conversations/", lambda route: asked.append(route))
    gate.set()
    until(page, lambda: len(asked) > 0)
    row.get_by_role("checkbox").check()
    with page.expect_response(re.compile("/conversations/$")):
        asked[0].continue_()
    page.unroute("**/conversations/")
    expect(page.locator("#bulk-count")).to_have_text("1 selected")
    with page.expect_response(re.compile("/conversations/$")):
        row.get_by_role("checkbox").uncheck()
        page.locator("#content h1").click()
    expect(row.locator(".conversation-row__active")).to_have_count(0)
    row.get_by_role("checkbox").check()
    expect(page.locator("#bulk-count")).to_have_text("1 selected")
