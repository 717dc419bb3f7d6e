"""The keyboard is at the composer after whatever a user does, and no key that is typed is lost."""

from __future__ import annotations

import threading

import pytest
from playwright.sync_api import Page, Route, WebSocketRoute, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import LIVE, at_rest, begin, last_turn, panel, todo, until

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
COMPOSING = """how => document.body.dispatchEvent(
    new KeyboardEvent("keydown", { key: "n", bubbles: true, cancelable: true, ...how }))"""
NOWHERE = "document.activeElement.matches('body, #content')"


def takes_keys(page: Page, text: str = "a/b c") -> None:
    """What is typed now lands in the composer; take it out again."""
    box = page.locator("#composer-text")
    expect(box).to_be_focused()
    page.keyboard.type(text)
    expect(box).to_have_value(text)
    expect(box).to_be_focused()
    box.fill("")


def leave(page: Page) -> None:
    """Take the focus from everything, as a click on an empty place does."""
    page.mouse.click(640, 26)
    assert page.evaluate(NOWHERE)


def test_the_composer_has_the_focus_after_all_that_is_done(scripted: Site, visitors: Visitors) -> None:
    gate, again = threading.Event(), threading.Event()
    scripted.model.script(
        todo("in_progress", "pending"),
        Reply(text="I work", stall_after=1, gate=gate),
        Reply(text="Once more", stall_after=1, gate=again),
        Reply(text="The end."),
    )
    page = visitors.enter(scripted)
    page.goto("/")
    page.fill("#composer-text", "Work")
    page.click("#send")
    page.wait_for_url("**/conversations/*/")
    page.wait_for_selector(LIVE)
    takes_keys(page)
    expect(panel(page)).to_be_visible()
    page.click("#stop")
    last_turn(page, "stopped")
    takes_keys(page)
    page.locator("#unfinished").get_by_role("button", name="Continue").click()
    page.wait_for_selector("#conversation[data-status='running']")
    takes_keys(page)
    page.click("#stop")
    at_rest(page)
    takes_keys(page)
    page.get_by_role("button", name="Dismiss").click()
    expect(page.locator("#unfinished")).to_be_empty()
    takes_keys(page)
    gate.set()
    again.set()
    page.fill("#composer-text", "Now end it")
    page.click("#send")
    takes_keys(page)
    last_turn(page, "completed")
    at_rest(page)
    takes_keys(page)
    page.reload()
    page.wait_for_selector(LIVE)
    takes_keys(page)
    page.get_by_role("button", name="Conversation menu").click()
    page.locator("#conversation-menu").get_by_role("button", name="Rename").click()
    expect(page.locator("#conversation-menu")).to_be_hidden()
    expect(page.locator(".rename")).to_be_focused()
    page.locator(".rename").fill("Named")
    page.locator(".rename").press("Enter")
    expect(page.locator("#title")).to_have_text("Named")
    page.wait_for_selector(LIVE)
    takes_keys(page)


def test_a_turn_that_fails_and_is_tried_again(scripted: Site, visitors: Visitors) -> None:
    """The first button loads the page anew."""
    scripted.model.script(Reply(status=400), Reply(text="Better."))
    page = visitors.enter(scripted)
    begin(page, "Work")
    last_turn(page, "failed")
    takes_keys(page)
    page.get_by_role("button", name="Retry").click()
    last_turn(page, "completed")
    at_rest(page)
    takes_keys(page)


def test_keys_that_nothing_else_takes_go_to_the_composer(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Yes?"))
    page = visitors.enter(scripted)
    begin(page, "hello")
    at_rest(page)
    box = page.locator("#composer-text")

    page.mouse.click(640, 26)
    page.keyboard.type("ls /tmp", delay=1)
    expect(box).to_have_value("ls /tmp")
    leave(page)
    page.keyboard.type("/x")  # a message is begun, so this is a part of it
    expect(box).to_have_value("ls /tmp/x")
    page.locator("#scroll").click()
    page.keyboard.press("Space")
    page.keyboard.type("y")
    expect(box).to_have_value("ls /tmp/xy")

    for how in ({"isComposing": True}, {"keyCode": 229}, {"key": "Process"}, {"ctrlKey": True}):
        leave(page)
        page.evaluate(COMPOSING, how)
        assert page.evaluate(NOWHERE), how
    for key in ("Control+j", "Alt+j", "Meta+j", "Shift", "F9", "ArrowDown"):
        leave(page)
        page.keyboard.press(key)
        assert page.evaluate(NOWHERE), key
    page.get_by_role("button", name="Conversation menu").click()
    page.locator("#conversation-menu").evaluate("menu => document.activeElement.blur()")
    page.keyboard.type("z")
    page.keyboard.press("Escape")
    expect(box).to_have_value("ls /tmp/xy")

    box.fill("")
    leave(page)
    page.keyboard.press("/")
    expect(page.locator("#palette [name='q']")).to_be_focused()


@pytest.mark.parametrize("database", ["ready", "silent"])
def test_what_is_typed_behind_the_first_message_waits_for_its_page(
    scripted: Site, visitors: Visitors, database: str
) -> None:
    """Also where the message waits for files of before, from a database that does not answer."""
    held: list[Route] = []
    scripted.model.script(Reply(text="Yes?"))
    page = visitors.enter(scripted)
    if database == "silent":
        page.add_init_script("IDBFactory.prototype.open = () => ({})")
    page.goto("/")
    page.route(f"{scripted.served.address}/", lambda route: held.append(route), times=1)
    page.fill("#composer-text", "hello")
    page.keyboard.press("Enter")
    page.keyboard.type("and more")
    page.keyboard.press("Enter")
    page.keyboard.type("!")
    until(page, lambda: held)
    held.pop().continue_()
    page.wait_for_url("**/conversations/*/")
    at_rest(page)
    expect(page.locator("#composer-text")).to_have_value("and more!")
    expect(page.locator("[data-role='user'] .message__body")).to_have_text(["hello"])
    page.goto("/")
    expect(page.locator("#composer-text")).to_have_value("")


def test_what_is_typed_behind_a_message_stays_when_that_is_accepted(
    scripted: Site, visitors: Visitors
) -> None:
    scripted.model.script(Reply(text="Yes?"), Reply(text="I see."))
    page = visitors.enter(scripted)
    begin(page, "hello")
    at_rest(page)
    slow, held = threading.Event(), []

    def delay(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        server.on_message(lambda message: held.append(message) if slow.is_set() else socket.send(message))
        sockets.append(socket)

    sockets: list[WebSocketRoute] = []
    page.route_web_socket("**/ws/**", delay)
    page.reload()
    at_rest(page)
    slow.set()
    page.fill("#composer-text", "first")
    page.press("#composer-text", "Enter")
    page.keyboard.type("second")
    until(page, lambda: any("accepted" in str(message) for message in held))
    slow.clear()
    for message in held:
        sockets[-1].send(message)
    expect(page.locator("#composer-text")).to_have_value("second")
    page.keyboard.type("!")
    expect(page.locator("#composer-text")).to_have_value("second!")
    last_turn(page, "completed")
    expect(page.locator("[data-role='user'] .message__body")).to_have_text(["hello", "first"])


def test_where_a_finger_is_the_pointer_the_focus_stays(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Yes?"), Reply(text="I see."))
    page = visitors.enter(scripted, **PHONE)
    begin(page, "hello")
    at_rest(page)
    expect(page.locator("#composer-text")).not_to_be_focused()
    page.fill("#composer-text", "and this")
    page.evaluate("document.activeElement.blur()")
    page.tap("#send")
    expect(last_turn(page, "completed")).to_contain_text("I see.")
    at_rest(page)
    expect(page.locator("#composer-text")).not_to_be_focused()


def test_who_leaves_as_the_turn_ends_is_not_called_back(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Done."))
    page = visitors.enter(scripted)  # which fails the test if a script does
    begin(page, "Look")
    at_rest(page)
    page.evaluate("""document.addEventListener("htmx:before:swap", () =>
        document.getElementById("conversation")?.setAttribute("data-status", "running"))""")
    page.locator("#sidebar").get_by_role("link", name="Board").click()
    expect(page.get_by_role("heading", name="Board", exact=True)).to_be_visible()
    page.evaluate("new Promise((done) => setTimeout(() => setTimeout(done)))")
