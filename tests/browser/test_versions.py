"""Versions of a turn in the browser: run again, edit, walk between them, delete; other tabs follow."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import FloatRect, Locator, Page, Route, expect

from chat.demo.reply import Call, Reply
from chat.demo.transport import MODELS
from tests.browser.site import Site, Visitors
from tests.browser.talk import (
    COMPOSING,
    at_rest,
    begin,
    choose_profile,
    come_to_rest,
    is_folded,
    is_open,
    last_turn,
    panel,
    record,
    send,
    todo,
    turns,
    until,
)

PLAN = [{"content": "Look", "status": "pending", "activeForm": "Looking"}]
PLANNED = Reply(tool_calls=[("TodoWrite", {"items": PLAN})])


def shows(page: Page, *texts: str) -> None:
    """Wait until the transcript has exactly these user messages."""
    questions = page.locator(".message[data-role='user'] .message__body")
    expect(questions).to_have_text(list(texts))


def versions(turn: Locator) -> Locator:
    return turn.locator(".versions")


def test_a_message_is_answered_again_edited_and_deleted(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply("First answer."), PLANNED, Reply("Second answer."), Reply("Other answer."))
    page = visitors.enter(scripted)
    begin(page, "One")
    at_rest(page)
    send(page, "Two")
    at_rest(page)
    other = visitors.enter(scripted)
    other.goto(page.url)
    at_rest(other)
    expect(panel(other)).to_have_count(1)

    first = turns(page).first
    first.hover()
    first.get_by_role("button", name="Run again").click()
    dialog = page.locator("#turn-dialog")
    expect(dialog).to_contain_text("The current version is kept, with everything after it.")
    shows(page, "One", "Two")
    dialog.get_by_role("button", name="Run again").click()
    for each in (page, other):
        expect(each.locator("#transcript")).to_contain_text("Other answer.")
        shows(each, "One")
        expect(versions(turns(each).first)).to_have_text("2 of 2")
        expect(panel(each)).to_have_count(0)
        at_rest(each)

    back = page.get_by_role("button", name="Previous version")
    back.focus()
    page.keyboard.press("Enter")
    for each in (page, other):
        shows(each, "One", "Two")
        expect(panel(each)).to_have_count(1)
        expect(each.locator("#transcript")).to_contain_text("First answer.")
    expect(page.get_by_role("button", name="Next version")).to_be_focused()

    scripted.model.script(Reply("Third answer."))
    second = turns(page).nth(1)
    second.hover()
    second.get_by_role("link", name="Edit").click()
    dialog = page.get_by_role("dialog")
    field = dialog.get_by_label("Message")
    expect(field).to_have_value("Two")
    expect(field).to_be_focused()
    expect(dialog).to_contain_text("The agent finds the files as they were before this message, and what")
    field.fill("Two, edited")
    dialog.get_by_role("button", name="Run again").click()
    expect(dialog).to_be_hidden()
    for each in (page, other):
        shows(each, "One", "Two, edited")
        expect(each.locator("#transcript")).to_contain_text("Third answer.")
        at_rest(each)
        expect(versions(turns(each).nth(1))).to_have_text("2 of 2")
    until(page, lambda: record(page) == record(other))
    page.reload()
    at_rest(page)
    assert record(page) == record(other)

    turns(page).first.hover()
    turns(page).first.get_by_role("link", name="Delete this version").click()
    expect(dialog).to_contain_text("Delete version 1 of 2")
    expect(dialog).to_contain_text("The 2 turns that follow are deleted too.")
    dialog.get_by_role("link", name="Cancel").click()
    expect(dialog).to_be_hidden()
    shows(page, "One", "Two, edited")
    turns(page).first.get_by_role("link", name="Delete this version").click()
    dialog.get_by_role("button", name="Delete").click()
    for each in (page, other):
        shows(each, "One")
        expect(each.locator("#transcript")).to_contain_text("Other answer.")
        expect(versions(turns(each).first)).to_have_count(0)
    page.reload()
    shows(page, "One")
    turns(page).first.get_by_role("link", name="Delete turn").click()
    expect(dialog).to_contain_text("This is the only turn. Delete this conversation, its plan")
    visitors.expected.append("404 (Not Found)")  # in the other tab
    dialog.get_by_role("button", name="Delete").click()
    page.wait_for_url("**/conversations/")
    page.locator("main").get_by_role("button", name="Undo").click()
    page.locator(f"main .conversation-row a[href='{urlsplit(other.url).path}']").click()
    shows(page, "One")


def test_the_panel_shows_the_files_of_the_version(scripted: Site, visitors: Visitors) -> None:
    def writes(path: str) -> Reply:
        return Reply(tool_calls=[Call("write_file", {"path": path, "content": path})])

    scripted.model.script(writes("kept.md"), Reply("First."), writes("one.md"), Reply("Second."))
    page = visitors.enter(scripted)
    begin(page, "Begin")
    at_rest(page)
    send(page, "Write")
    at_rest(page)
    page.click(".bar__files")
    rows = page.locator("#files-panel .file-row[data-kind='file'] .files__link")
    expect(rows).to_have_text(["kept.md", "one.md"])
    scripted.model.script(writes("two.md"), Reply("Third."))
    turns(page).last.hover()
    turns(page).last.get_by_role("button", name="Run again").click()
    expect(rows).to_have_text(["kept.md", "two.md"])
    at_rest(page)
    page.get_by_role("button", name="Previous version").click()
    expect(rows).to_have_text(["kept.md", "one.md"])
    turns(page).last.get_by_role("link", name="Delete this version").click()
    dialog = page.get_by_role("dialog", name="Delete version 1 of 2")
    dialog.get_by_role("button", name="Delete").click()
    expect(rows).to_have_text(["kept.md", "two.md"])


def test_files_are_offered_while_the_version_has_some(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply("First."))
    page, other = visitors.enter(scripted), visitors.enter(scripted)
    other.goto(begin(page, "Write"))

    def offered(version: str, is_offered: bool) -> None:
        for each in (page, other):
            expect(versions(last_turn(each))).to_have_text(version)
            at_rest(each)
            expect(each.locator(".bar__files")).to_be_visible(visible=is_offered)

    def run_again(*replies: Reply) -> None:
        scripted.model.script(*replies)
        turns(page).last.hover()
        turns(page).last.get_by_role("button", name="Run again").click()

    at_rest(page)
    call = Call("write_file", {"path": "one.md", "content": "one"})
    run_again(Reply(tool_calls=[call]), Reply("Second."))
    offered("2 of 2", True)
    page.get_by_role("button", name="Previous version").click()
    offered("1 of 2", False)
    page.get_by_role("button", name="Next version").click()
    offered("2 of 2", True)
    run_again(Reply("Third."))
    offered("3 of 3", False)
    page.get_by_role("button", name="Previous version").click()
    offered("2 of 3", True)
    page.click(".bar__files")
    page.get_by_role("button", name="Actions for one.md").click()
    page.locator("#file-menu").get_by_role("button", name="Delete").click()
    page.click("#file-delete .button--danger")
    offered("2 of 3", False)


def test_it_is_refused_while_the_agent_works(scripted: Site, visitors: Visitors) -> None:
    """It is not offered then; a dialog that was open before keeps what was written."""
    scripted.model.script(Reply("First answer."), Reply(text="On and on", piece=3, stall_after=2))
    page, other = visitors.enter(scripted), visitors.enter(scripted)
    visitors.expected.append("409 (Conflict)")
    other.goto(begin(page, "One"))
    at_rest(page)
    first = turns(page).first
    first.get_by_role("link", name="Edit").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Message").fill("Another one")
    send(other, "Two")
    expect(page.locator("#transcript")).to_contain_text("On")
    dialog.get_by_role("button", name="Run again").click()
    expect(dialog.get_by_role("alert")).to_contain_text("The agent is still working")
    expect(dialog.get_by_label("Message")).to_have_value("Another one")
    page.keyboard.press("Escape")
    first.hover()
    expect(first.get_by_role("button", name="Copy message").first).to_be_visible()
    for role, name in (("link", "Edit"), ("button", "Run again"), ("link", "Delete turn")):
        expect(first.get_by_role(role, name=name, include_hidden=True)).to_be_hidden()
    shows(page, "One", "Two")
    page.get_by_role("button", name="Stop").click()
    at_rest(page)
    scripted.model.script(Reply("Other answer."))
    page.goto(str(first.get_by_role("link", name="Edit").get_attribute("href")))  # as in a tab of its own
    page.get_by_label("Message").fill("One, edited")
    page.get_by_role("button", name="Run again").click()
    shows(page, "One, edited")
    at_rest(page)


def test_versions_are_not_switched_while_the_agent_works(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply("First answer."), Reply("Second answer."))
    page = visitors.enter(scripted)
    begin(page, "One")
    at_rest(page)
    turns(page).first.get_by_role("button", name="Run again").click()
    previous = page.get_by_role("button", name="Previous version")
    expect(previous).to_be_visible()
    scripted.model.script(Reply(text="On and on", piece=3, stall_after=2))
    send(page, "Two")
    expect(page.locator("#transcript")).to_contain_text("On")
    expect(previous).to_be_hidden()
    expect(versions(turns(page).first)).to_have_text("2 of 2")
    page.get_by_role("button", name="Stop").click()
    expect(previous).to_be_visible()
    at_rest(page)


def test_another_profile_and_model_answer_one_turn_alone(scripted: Site, visitors: Visitors) -> None:
    model = scripted.model
    model.script(Reply("First answer."))
    page = visitors.enter(scripted)
    begin(page, "One")
    at_rest(page)
    model.take_requests()
    for title, answer in (("Lean", "Second answer."), ("Checklist", "Third answer.")):
        model.script(Reply(answer))
        turn = turns(page).first
        turn.hover()
        turn.get_by_role("link", name="Edit").click()
        dialog = page.get_by_role("dialog")
        dialog.locator("select[name=profile]").select_option(label=title)
        dialog.locator("select[name=model]").select_option(label="scripted")
        dialog.locator("textarea").press("Control+Enter")
        expect(page.locator("#transcript")).to_contain_text(answer)
        at_rest(page)
        expect(turns(page).first).to_contain_text(title)
    expect(versions(turns(page).first)).to_have_text("3 of 3")
    assert {request["model"] for request in model.take_requests()} == {"scripted"}
    model.script(Reply("As ever."))
    send(page, "Two")
    at_rest(page)
    expect(turns(page).last).to_contain_text("Focused")


def test_an_edited_message_is_sent_with_enter(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply("Yes?"), Reply("Edited."))
    page = visitors.enter(scripted)
    begin(page, "One")
    at_rest(page)
    turns(page).first.hover()
    turns(page).first.get_by_role("link", name="Edit").click()
    field = page.get_by_role("dialog").get_by_label("Message")
    field.evaluate(COMPOSING, {"isComposing": True})
    field.evaluate(COMPOSING, {"keyCode": 229})
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("and more")
    expect(field).to_have_value("One\nand more")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.locator("#transcript")).to_contain_text("Edited.")
    shows(page, "One\nand more")
    at_rest(page)
    expect(versions(turns(page).first)).to_have_text("2 of 2")


def test_what_is_typed_outlives_a_second_press(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply("Yes?"))
    page = visitors.enter(scripted)
    begin(page, "First words")
    at_rest(page)
    held: list[Route] = []
    page.route("**/again/", lambda route: held.append(route))
    edit = turns(page).first.get_by_role("link", name="Edit")
    edit.click()
    edit.click()
    until(page, lambda: len(held) == 2)
    held[0].continue_()
    field = page.locator("dialog textarea")
    expect(field).to_be_focused()
    field.fill("Better words")
    with page.expect_event("requestfinished", lambda request: request.url.endswith("/again/")):
        held[1].continue_()
    page.evaluate("new Promise(requestAnimationFrame)")
    expect(field).to_have_value("Better words")
    page.keyboard.press("Escape")


def test_a_question_and_the_end_are_found_after_another_version(scripted: Site, visitors: Visitors) -> None:
    long = "\n\n".join(f"Line {number}" for number in range(60))
    ask = Reply(tool_calls=[Call("bash", {"command": "echo asked"})])
    scripted.model.script(Reply("First."), ask, Reply(long))
    page = visitors.enter(scripted)
    page.goto("/")
    choose_profile(page, "Asks first")
    page.fill("#composer-text", "One")
    page.click("#send")
    page.wait_for_url("**/conversations/*/")
    at_rest(page)
    turns(page).first.hover()
    turns(page).first.get_by_role("button", name="Run again").click()
    expect(page.locator(".tool-call[data-status=waiting]")).to_have_attribute("open", "")
    expect(page.locator(".approval")).to_be_focused()
    page.get_by_role("button", name="Allow once").click()
    at_rest(page)
    expect(page.get_by_text("Line 59", exact=True)).to_be_in_viewport()


def press_where_it_is(page: Page, button: Locator) -> FloatRect:
    """Press a button in view, and return its place. A click on its locator scrolls if the machine is busy."""
    expect(button).to_be_in_viewport(ratio=1)
    come_to_rest(page)
    place = button.bounding_box()
    assert place
    page.mouse.click(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    return place


def test_switching_versions_keeps_the_turn_in_its_place(scripted: Site, visitors: Visitors) -> None:
    long = "\n\n".join(f"Line {number}" for number in range(60))
    scripted.model.script(Reply(long), Reply(long.replace("Line", "Row")))
    page = visitors.enter(scripted)
    begin(page, "One")
    at_rest(page)
    turns(page).first.hover()
    turns(page).first.get_by_role("button", name="Run again").click()
    expect(page.get_by_text("Row 59", exact=True)).to_be_in_viewport()
    at_rest(page)
    page.get_by_role("button", name="Previous version").scroll_into_view_if_needed()
    before = press_where_it_is(page, page.get_by_role("button", name="Previous version"))
    shown = page.get_by_role("button", name="Next version")
    expect(shown).to_be_focused()
    after = shown.bounding_box()
    assert after
    assert abs(after["y"] - before["y"]) < 2


def test_a_version_that_comes_leaves_the_keyboard_where_it_went_meanwhile(
    scripted: Site, visitors: Visitors
) -> None:
    scripted.model.script(Reply("First."), Reply("Second."))
    page = visitors.enter(scripted)
    begin(page, "One")
    at_rest(page)
    turns(page).first.hover()
    turns(page).first.get_by_role("button", name="Run again").click()
    expect(turns(page).first).to_contain_text("Second.")
    at_rest(page)
    held: list[Route] = []
    page.route("**/show/", lambda route: held.append(route))
    page.get_by_role("button", name="Previous version").click()
    until(page, lambda: bool(held))
    page.get_by_role("button", name="Conversation menu").click()
    menu = page.locator("#conversation-menu")
    expect(menu).to_be_visible()
    held[0].continue_()
    expect(turns(page).first).to_contain_text("First.")
    expect(menu).to_be_visible()
    expect(page.get_by_role("button", name="Next version")).not_to_be_focused()


def test_the_buttons_of_versions_keep_their_place_where_messages_differ_in_height(
    scripted: Site, visitors: Visitors
) -> None:
    long = "\n\n".join(f"Line {number}" for number in range(60))
    scripted.model.script(Reply(long), Reply(long), Reply(long))
    page = visitors.enter(scripted)
    begin(page, "One")
    at_rest(page)
    send(page, "Two")
    at_rest(page)
    turns(page).last.hover()
    turns(page).last.get_by_role("link", name="Edit").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Message").fill("\n".join(f"Part {number}" for number in range(12)))
    dialog.get_by_role("button", name="Run again").click()
    expect(versions(turns(page).last)).to_have_text("2 of 2")
    last_turn(page, "completed")
    at_rest(page)
    back, forth = (page.get_by_role("button", name=f"{which} version") for which in ("Previous", "Next"))
    page.locator("#scroll").hover()
    page.mouse.wheel(0, -300)  # or the page may still go to its end
    expect(page.locator("#to-end")).to_be_visible()
    back.scroll_into_view_if_needed()
    page.locator("#scroll").evaluate("view => view.scrollTop -= 100")
    for pressed, other, text in [(back, forth, "Two"), (forth, back, "Part 11")] * 2:
        before = press_where_it_is(page, pressed)
        expect(other).to_be_focused()
        expect(turns(page).last.get_by_text(text, exact=text == "Two")).to_be_in_viewport()
        after = other.bounding_box()
        assert after
        assert abs(after["y"] - before["y"]) < 2


def test_the_message_is_in_view_above_the_list_that_opens_with_its_version(
    scripted: Site, visitors: Visitors
) -> None:
    short = [Reply("Yes.")] * 3
    first = [todo("in_progress", *["pending"] * 6), Reply("I begin.", stall_after=2)]
    second = [todo(*["completed"] * 7), Reply("All is done.")]
    scripted.model.script(*short, *first, *second)
    page = visitors.enter(scripted, viewport={"width": 1920, "height": 1080})
    begin(page, "One")
    at_rest(page)
    for text in ("Two", "Three"):
        send(page, text)
        at_rest(page)
    send(page, "Work")
    expect(page.locator("#transcript")).to_contain_text("I begin.")
    page.click("#stop")
    last_turn(page, "stopped")
    at_rest(page)
    panel(page).locator("summary").click()
    is_open(page)
    last_turn(page).hover()
    last_turn(page).get_by_role("button", name="Run again").click()
    expect(page.locator("#transcript")).to_contain_text("All is done.")
    at_rest(page)
    is_folded(page)
    press_where_it_is(page, page.get_by_role("button", name="Previous version"))
    is_open(page)
    come_to_rest(page)
    turn = last_turn(page)
    for part in (versions(turn), turn.get_by_text("Work", exact=True), turn.get_by_text("I begin.")):
        expect(part).to_be_in_viewport(ratio=1)


def test_all_models_of_a_connection_are_offered(scripted: Site, visitors: Visitors) -> None:
    """Also those that only its endpoint knows, once it has answered; the choice stays."""
    page = visitors.enter(scripted)
    begin(page, "One")
    at_rest(page)
    turn = turns(page).first
    turn.hover()
    asked: list[Route] = []
    page.route(lambda address: "options=1" in address, lambda each: asked.append(each))
    with scripted.connection("Unasked"):
        turn.get_by_role("link", name="Edit").click()
        model = page.get_by_role("dialog").get_by_label("Model")
        expect(model.locator("optgroup[label=Unasked]")).to_have_count(1)
        # The lists of other connections may be known, if another test has asked for them.
        until(page, lambda: len(asked) == model.locator("optgroup[hx-get]").count())
        model.select_option(label="scripted")
        chosen = model.input_value()
        for each in asked:
            each.continue_()
        expect(model.locator("optgroup[label=Unasked] option")).to_have_count(len(MODELS["data"]))
        expect(model).to_have_value(chosen)


LONG_TALK = """
import uuid
from chat.models import Conversation, Message, Turn, site_owner
made = Conversation.objects.create(owner=site_owner(), title="Many turns")
turn = None
for number in range(46):
    turn = Turn.objects.create(conversation=made, client_id=uuid.uuid4(), status="completed", parent=turn)
    Message.objects.create(turn=turn, role="user", text=f"Question {number}")
    Message.objects.create(turn=turn, role="assistant", text=f"Answer {number}\\n\\n" * 8)
print(made.pk)
"""


def test_the_version_of_an_early_turn_is_in_its_place_in_a_long_conversation(
    scripted: Site, visitors: Visitors
) -> None:
    scripted.model.script(Reply("Another answer"))
    page = visitors.enter(scripted)
    page.goto(f"/conversations/{scripted.served.shell(LONG_TALK)}/?from=all")
    early = turns(page).nth(1)
    early.scroll_into_view_if_needed()
    early.hover()
    early.get_by_role("button", name="Run again").first.click()
    page.locator("#turn-dialog").get_by_role("button", name="Run again").click()
    expect(page.get_by_text("Another answer", exact=True)).to_be_visible()
    at_rest(page)
    expect(turns(page)).to_have_count(2)
    back = page.get_by_role("button", name="Previous version")
    before = press_where_it_is(page, back)
    forth = page.get_by_role("button", name="Next version")
    expect(forth).to_be_focused()
    expect(page.locator("#transcript").get_by_text("Question 1", exact=True)).to_be_in_viewport()
    after = forth.bounding_box()
    assert after
    assert abs(after["y"] - before["y"]) < 2
    forth.click()
    expect(back).to_be_focused()
    expect(turns(page)).to_have_count(2)


@pytest.mark.parametrize("number", [0, 3])
def test_what_is_in_view_stays_as_an_early_turn_is_deleted(
    scripted: Site, visitors: Visitors, number: int
) -> None:
    page = visitors.enter(scripted)
    page.goto(f"/conversations/{scripted.served.shell(LONG_TALK)}/?from=all")
    early = turns(page).nth(number)
    early.scroll_into_view_if_needed()
    early.hover()
    early.get_by_role("link", name="Delete").click()
    before = (early if number == 0 else turns(page).nth(number - 1)).bounding_box()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text(f"Question {number}", exact=True)).to_have_count(0)
    stays = page.locator(".turn", has=page.get_by_text(f"Question {number - 1 if number else 1}", exact=True))
    expect(stays).to_be_visible()
    assert before
    until(page, lambda: (place := stays.bounding_box()) and abs(place["y"] - before["y"]) < 2)
    expect(turns(page)).to_have_count(45)


def test_on_a_phone_the_answer_to_an_edited_message_that_was_found_is_in_view(
    scripted: Site, visitors: Visitors
) -> None:
    scripted.model.script(Reply("Another answer\n\n" * 10))
    page = visitors.enter(scripted, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    address = f"/conversations/{scripted.served.shell(LONG_TALK)}/"
    page.goto(f"{address}?from=all")
    message = turns(page).nth(15).locator(".message").first.get_attribute("id")
    page.goto(f"{address}?from={message}#{message}")
    at_rest(page)
    page.locator("article.turn", has=page.locator(f"#{message}")).get_by_role("link", name="Edit").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Message").fill("Another question")
    dialog.get_by_role("button", name="Run again").click()
    expect(page.locator(".message", has_text="Another question")).to_be_attached()
    at_rest(page)
    expect(page.get_by_text("Another answer").last).to_be_in_viewport()
