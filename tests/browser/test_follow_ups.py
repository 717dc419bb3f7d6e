"""Messages while the agent works, and what is typed: nothing of it is lost."""

from __future__ import annotations

import threading

import pytest
from playwright.sync_api import Locator, Page, Route, WebSocketRoute, expect

from chat.demo.reply import Reply
from tests.browser.line import Line
from tests.browser.site import Site, Visitors
from tests.browser.talk import (
    LIVE,
    at_rest,
    begin,
    choose_profile,
    is_folded,
    is_open,
    last_turn,
    panel,
    record,
    send,
    todo,
    turns,
)

LOOK = [("read_file", {"path": "."})]


def at_work(
    site: Site, visitors: Visitors, *then: Reply, calls: bool = False
) -> tuple[Page, threading.Event]:
    """The page of a turn whose model says a word and waits; then `then` comes."""
    go = threading.Event()
    first = Reply(text="I begin.", tool_calls=LOOK if calls else (), stall_after=2, gate=go)
    site.model.script(first, *then)
    page = visitors.enter(site)
    begin(page, "Do it")
    expect(page.locator("#transcript")).to_contain_text("I begin.")
    return page, go


def hold(page: Page, text: str) -> None:
    """Send a message that is held, and see it so."""
    page.fill("#composer-text", text)
    page.press("#composer-text", "Enter")
    expect(held(page).last).to_contain_text(text)
    expect(page.locator("#composer-text")).to_have_value("")


def held(page: Page) -> Locator:
    return page.locator("#follow-ups .follow-up")


def test_held_then_read_at_the_next_step(scripted: Site, visitors: Visitors) -> None:
    page, go = at_work(scripted, visitors, Reply(text="Both done."), calls=True)
    expect(page.locator("#follow-ups")).to_be_hidden()
    hold(page, "And this too")
    expect(page.locator("#follow-ups")).to_contain_text("Will be delivered at the agent's next step")
    page.reload()
    page.wait_for_selector(LIVE)
    expect(held(page)).to_have_count(1)
    go.set()
    expect(last_turn(page, "completed")).to_contain_text("Both done.")
    expect(held(page)).to_have_count(0)
    expect(page.locator(".call-group + .message[data-role='user']")).to_contain_text("And this too")
    live = record(page)
    page.reload()
    at_rest(page)
    assert record(page) == live


def test_beside_a_question_one_sees_that_the_answer_comes_first(scripted: Site, visitors: Visitors) -> None:
    asks = Reply(tool_calls=[("bash", {"command": "echo this; true"})])
    scripted.model.script(asks, Reply(text="Done."))
    page = visitors.enter(scripted)
    page.goto("/")
    choose_profile(page, "Asks first")
    page.fill("#composer-text", "Work")
    page.click("#send")
    expect(page.locator(".approval")).to_be_visible()
    hold(page, "And this too")
    hint = page.locator(".follow-ups__hint > :visible")
    expect(hint).to_have_text(["Will be delivered after your answer"])
    page.get_by_role("button", name="Allow once").click()
    expect(last_turn(page, "completed")).to_contain_text("And this too")


@pytest.mark.parametrize("size", [(1024, 768), (390, 844)])
def test_beside_an_open_list_one_sees_that_several_are_held(
    scripted: Site, visitors: Visitors, size: tuple[int, int]
) -> None:
    gate = threading.Event()
    work = Reply(text="I go on", stall_after=2, gate=gate, tool_calls=LOOK)
    scripted.model.script(todo("in_progress", *["pending"] * 4), work, Reply(text="Done."))
    page = visitors.enter(scripted, viewport=dict(zip(("width", "height"), size, strict=True)))
    begin(page, "Work")
    expect(page.locator("#transcript")).to_contain_text("I go on")
    hold(page, "Number 0")
    expect(page.get_by_text("Will be delivered at the agent's next step")).to_be_in_viewport(ratio=1)
    for number in (1, 2):
        hold(page, f"Number {number}")
    expect(panel(page)).to_have_attribute("open", "")
    expect(held(page).nth(2)).to_be_in_viewport(ratio=1)
    expect(held(page).nth(1)).to_be_in_viewport(ratio=0.6)
    expect(page.get_by_text("3 messages for the agent's next step")).to_be_in_viewport(ratio=1)
    gate.set()
    at_rest(page)


def test_taken_back_into_the_composer_and_sent_anew(scripted: Site, visitors: Visitors) -> None:
    page, go = at_work(scripted, visitors, Reply(text="Thanks."))
    hold(page, "Use tabs")
    page.fill("#composer-text", "a thought of its own")
    held(page).get_by_role("button", name="Unsend").click()
    expect(page.locator("#composer-text")).to_have_value("Use tabs\n\na thought of its own")
    expect(held(page)).to_have_count(0)
    page.reload()
    expect(page.locator("#composer-text")).to_have_value("Use tabs\n\na thought of its own")
    page.wait_for_selector(LIVE)
    hold(page, "Use spaces")
    go.set()
    expect(turns(page)).to_have_count(2)
    expect(last_turn(page, "completed")).to_contain_text("Use spaces")
    assert "Use tabs" not in str(scripted.model.requests[-1])


def test_the_up_key_takes_the_latest_back(scripted: Site, visitors: Visitors) -> None:
    page, go = at_work(scripted, visitors)
    field = page.locator("#composer-text")
    for text in ("Use tabs", "Use spaces"):
        hold(page, text)
    page.keyboard.press("ArrowUp")
    expect(field).to_have_value("Use spaces")
    expect(held(page)).to_have_count(1)
    expect(field).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(field).to_have_value("Use spaces")
    expect(held(page)).to_have_count(1)
    field.fill("")
    page.keyboard.press("ArrowUp")
    expect(field).to_have_value("Use tabs")
    expect(held(page)).to_have_count(0)
    go.set()


@pytest.mark.parametrize("width", [1280, 390])
def test_what_unsends_never_comes_to_stop(scripted: Site, visitors: Visitors, width: int) -> None:
    """Rows move as one of them goes and the composer grows; nothing else is above or below its button."""
    gate = threading.Event()
    scripted.model.script(Reply(text="I begin.", stall_after=1, gate=gate))
    page = visitors.enter(scripted, viewport={"width": width, "height": 800})
    begin(page, "begin")
    for text in ("one", "two"):
        page.fill("#composer-text", text)
        page.press("#composer-text", "Enter")
        expect(page.locator(".follow-up", has_text=text)).to_be_visible()
    stop, back = (page.locator(place).last.bounding_box() for place in ("#stop-and-send", ".follow-up__back"))
    assert stop
    assert back
    assert stop["x"] + stop["width"] < back["x"]
    gate.set()
    at_rest(page)


def test_stop_says_what_becomes_of_held_messages(scripted: Site, visitors: Visitors) -> None:
    page, _go = at_work(scripted, visitors, Reply(text="Instead."))
    stop = page.locator("#stop")
    expect(stop).to_have_text("Stop", use_inner_text=True)
    expect(page.locator("#stop-and-send")).to_have_count(0)
    hold(page, "One")
    hold(page, "Two")
    expect(stop).to_have_text("Stop and unsend", use_inner_text=True)
    stop.click()
    at_rest(page)
    expect(page.locator("#composer-text")).to_have_value("One\n\nTwo")
    expect(held(page)).to_have_count(0)
    last_turn(page, "stopped")
    page.press("#composer-text", "Enter")
    expect(last_turn(page, "completed")).to_contain_text("Instead.")


def test_stop_and_send(scripted: Site, visitors: Visitors) -> None:
    page, _go = at_work(scripted, visitors, Reply(text="Instead."))
    other = visitors.enter(scripted)
    other.goto(page.url)
    hold(page, "Rather this")
    expect(held(other)).to_have_count(1)
    page.get_by_role("button", name="Stop and send now").click()
    for each in (page, other):
        expect(turns(each)).to_have_count(2)
        expect(turns(each).first).to_have_attribute("data-status", "stopped")
        expect(last_turn(each, "completed")).to_contain_text("Instead.")
        expect(held(each)).to_have_count(0)
    expect(page.locator("#composer-text")).to_have_value("")


@pytest.mark.parametrize("how", ["stopped as it is written", "stopped", "ended"])
def test_a_list_is_at_rest_while_the_next_turn_works(scripted: Site, visitors: Visitors, how: str) -> None:
    """A held message begins the next turn in the moment in which the one with the list ends."""
    ends, go = threading.Event(), threading.Event()
    scripted.model.script(Reply(text="Yes?"))
    if how == "stopped as it is written":
        scripted.model.script(todo("in_progress", "pending", stall_after=8, gate=ends))
    else:
        scripted.model.script(
            todo("in_progress", "pending"), Reply(text="I begin.", stall_after=2, gate=ends)
        )
    scripted.model.script(Reply(text="On to it.", stall_after=2, gate=go))
    page = visitors.enter(scripted)
    begin(page, "Hello")
    at_rest(page)
    send(page, "Do it")
    is_open(page)
    hold(page, "Something else")
    if how == "ended":
        ends.set()
    else:
        page.get_by_role("button", name="Stop and send now").click()
    expect(last_turn(page, "running")).to_contain_text("On to it.")
    expect(turns(page)).to_have_count(3)
    if how == "stopped as it is written":
        expect(panel(page)).to_have_count(0)
    else:
        is_folded(page)
        expect(panel(page)).to_have_attribute("data-phase", "ended")
    expect(page.locator("#context-meter")).not_to_be_empty()
    go.set()
    at_rest(page)


def test_a_draft_outlives_a_reload(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Yes?"), Reply(text="Noted."))
    page = visitors.enter(scripted)
    begin(page, "hello")
    at_rest(page)
    page.fill("#composer-text", "half a thou")
    page.reload()
    expect(page.locator("#composer-text")).to_have_value("half a thou")
    page.wait_for_selector(LIVE)
    page.goto("/")
    expect(page.locator("#composer-text")).to_have_value("")
    page.fill("#composer-text", "another beginning")
    page.reload()
    expect(page.locator("#composer-text")).to_have_value("another beginning")
    page.go_back()
    expect(page.locator("#composer-text")).to_have_value("half a thou")
    page.wait_for_selector(LIVE)
    page.press("#composer-text", "Enter")
    expect(last_turn(page, "completed")).to_contain_text("Noted.")
    page.reload()
    expect(page.locator("#composer-text")).to_have_value("")


def test_what_was_sent_as_the_line_broke_arrives_once(scripted: Site, visitors: Visitors, line: Line) -> None:
    """Whether the message was accepted, the page cannot know; it sends it again, also after a reload."""
    visitors.expected += ["WebSocket", "net::ERR", "htmx:ws:error"]
    scripted.model.script(Reply(text="Yes?"), Reply(text="Once."))
    page = visitors.enter(scripted)
    at = begin(page, "hello")
    at_rest(page)
    elsewhere = visitors.enter(scripted, address=line.address)
    elsewhere.goto(at.replace(scripted.served.address, line.address))
    at_rest(elsewhere)
    line.cut()
    elsewhere.fill("#composer-text", "only once")
    elsewhere.press("#composer-text", "Enter")
    expect(elsewhere.locator("#composer-text")).to_have_value("only once")
    line.mend()
    elsewhere.reload()
    expect(last_turn(elsewhere, "completed")).to_contain_text("Once.")
    expect(elsewhere.locator("#composer-text")).to_have_value("")
    at_rest(elsewhere)
    expect(turns(elsewhere)).to_have_count(2)


def test_what_stop_took_back_outlives_a_lost_answer(scripted: Site, visitors: Visitors) -> None:
    visitors.expected += ["net::ERR"]
    page, _go = at_work(scripted, visitors)
    hold(page, "One")
    hold(page, "Two")

    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route("**/stop/", lose)
    page.locator("#stop").click()
    at_rest(page)
    expect(page.locator("#composer-text")).to_have_value("One\n\nTwo")
    page.reload()
    at_rest(page)
    expect(page.locator("#composer-text")).to_have_value("One\n\nTwo")


def test_what_is_accepted_in_a_lost_answer_is_sent_once(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Yes?"), Reply(text="Once."))
    page = visitors.enter(scripted)
    lost: list[str] = []

    def lose(route: WebSocketRoute) -> None:
        server = route.connect_to_server()

        def start_next(message: str | bytes) -> None:
            if '"accepted"' in str(message) and not lost:
                lost.append(str(message))
            else:
                route.send(message)

        server.on_message(start_next)

    page.route_web_socket("**/ws/**", lose)
    begin(page, "hello")
    at_rest(page)
    page.fill("#composer-text", "only once")
    page.press("#composer-text", "Enter")
    expect(last_turn(page, "completed")).to_contain_text("Once.")
    expect(page.locator("#composer-text")).to_have_value("")
    assert lost
    expect(turns(page)).to_have_count(2)


def test_files_come_back_with_the_message_that_is_unsent(scripted: Site, visitors: Visitors) -> None:
    page, go = at_work(scripted, visitors, Reply(text="Thanks."))
    note = {"name": "my notes.md", "mimeType": "text/markdown", "buffer": b"# Notes"}
    chips = page.locator("#composer-attached .attached")

    def hold_with_file() -> None:
        page.press("#composer-text", "Enter")
        expect(held(page).locator(".attachment")).to_have_text("my notes.md")
        expect(chips).to_have_count(0)

    page.set_input_files("#composer-files", [note])  # type: ignore[list-item]
    page.fill("#composer-text", "use this")
    hold_with_file()
    held(page).get_by_role("button", name="Unsend").click()
    expect(page.locator("#composer-text")).to_have_value("use this")
    expect(chips.locator(":scope > span")).to_have_text("my notes.md")
    page.keyboard.type(" file")
    hold_with_file()
    page.locator("#stop").click()
    at_rest(page)
    expect(page.locator("#composer-text")).to_have_value("use this file")
    expect(chips.locator(":scope > span")).to_have_text("my notes.md")
    page.reload()
    at_rest(page)
    expect(page.locator("#composer-text")).to_have_value("use this file")
    expect(chips.locator(":scope > span")).to_have_text("my notes.md")
    page.set_input_files("#composer-files", [note | {"name": "new.md"}])  # type: ignore[list-item]
    said = page.locator("#composer-note")
    chips.filter(has_text="new.md").get_by_role("button").click()
    expect(said).to_have_text("")
    page.press("#composer-text", "Enter")
    expect(last_turn(page, "completed").locator(".attachment")).to_have_text("my notes.md")
    asked = scripted.model.requests[-1]["messages"][-1]["content"]
    assert asked.endswith("use this file\n\nUploaded: uploads/my notes.md")
    go.set()


@pytest.mark.parametrize("works", [True, False])
def test_a_file_that_came_back_and_is_removed_is_gone(
    scripted: Site, visitors: Visitors, works: bool
) -> None:
    """Unless the agent works with the files."""
    page, go = at_work(scripted, visitors, Reply(text="Thanks."))
    note = {"name": "my notes.md", "mimeType": "text/markdown", "buffer": b"# Notes"}
    page.set_input_files("#composer-files", [note])  # type: ignore[list-item]
    page.fill("#composer-text", "use this")
    page.press("#composer-text", "Enter")
    unsend = held(page).get_by_role("button", name="Unsend") if works else page.locator("#stop")
    expect(held(page).locator(".attachment")).to_have_count(1)
    unsend.click()
    expect(page.locator("#composer-attached .attached")).to_have_count(1)
    if not works:
        at_rest(page)
    with page.expect_response("**/files/delete/"):
        page.locator("#composer-attached").get_by_role("button").click()
    stays = "A file that you remove from the message stays in the conversation's files."
    expect(page.locator("#composer-note")).to_have_text(stays if works else "")
    go.set()
    at_rest(page)
    page.goto(f"{page.url}files/")
    expect(page.locator("#files").get_by_text("my notes.md")).to_have_count(int(works))
