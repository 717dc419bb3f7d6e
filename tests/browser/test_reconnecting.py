"""How soon a page is live again when its line is back."""

from __future__ import annotations

import itertools
import threading

from playwright.sync_api import Page, WebSocketRoute, expect

from chat.demo.reply import Reply
from tests.browser.site import CUT_EARLY, Site, Visitors
from tests.browser.talk import LIVE, at_rest, begin, send, until
from tests.faults.proxy import Proxy

# When each connection was tried, by the page's own clock, and how many have ended.
WATCH = """
    window.tried = [];
    window.ended = 0;
    window.WebSocket = new Proxy(WebSocket, {
        construct: (made, given) => {
            tried.push(performance.now());
            const socket = Reflect.construct(made, given);
            socket.addEventListener("close", () => ended++);
            return socket;
        } });
"""
# What the console says of a connection that cannot be made, and of files that are asked for as the line ends.
REFUSED = ["net::ERR", "htmx:ws:error", "htmx:error: Failed to fetch", CUT_EARLY]


def tries(page: Page) -> list[float]:
    """When the page tried to connect, in seconds."""
    return [at / 1000 for at in page.evaluate("window.tried")]


def is_live_a_second_later(page: Page) -> bool:
    """By the page's clock, which stands still otherwise."""
    page.clock.run_for(1_000)
    return page.get_attribute("#connection", "data-state") == "live"


def test_the_bar_stays_as_it_is_while_a_page_connects(scripted: Site, visitors: Visitors) -> None:
    scripted.model.script(Reply(text="Yes?"))
    page = visitors.enter(scripted)
    address = begin(page, "hello")
    at_rest(page)
    session = page.context.new_cdp_session(page)
    session.send("Animation.enable")
    session.send(
        "Animation.setPlaybackRate", {"playbackRate": 0.01}
    )  # its first second lasts for all of the test
    sockets: list[WebSocketRoute] = []
    page.route_web_socket("**/ws/**", lambda each: sockets.append(each))
    page.goto(address)
    until(page, lambda: sockets)
    expect(page.locator("#connection")).to_have_attribute("data-state", "reconnecting")
    meter = page.locator("#context-meter").bounding_box()
    sockets[0].connect_to_server()
    page.wait_for_selector(LIVE)
    assert page.locator("#context-meter").bounding_box() == meter


def test_the_text_is_back_two_seconds_after_the_line(scripted: Site, visitors: Visitors) -> None:
    """The line is cut for so long that delays which go on doubling would be near five seconds."""
    visitors.expected += REFUSED
    gate = threading.Event()
    scripted.model.script(Reply(text="The answer is here.", stall_after=2, gate=gate))
    with Proxy(scripted.served.port) as line:
        page = visitors.enter(scripted, address=line.address)
        page.add_init_script(WATCH)
        begin(page, "hello")
        page.wait_for_selector("#conversation[data-status='running']")
        line.cut()
        gate.set()
        until(page, lambda: len(tries(page)) >= 7)
        line.flow()
        expect(page.locator("[data-role='assistant']")).to_contain_text("The answer is here.")
        at_rest(page)
        times = tries(page)
    waits = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert max(waits) < 4, waits  # two seconds, and what a busy machine adds


def test_the_network_that_is_back_is_used_at_once(scripted: Site, visitors: Visitors) -> None:
    """The page's clock stands still, so it is not the next attempt that was due."""
    visitors.expected += REFUSED
    scripted.model.script(Reply(text="Yes?"))
    with Proxy(scripted.served.port) as line:
        page = visitors.enter(scripted, address=line.address)
        page.add_init_script(WATCH)
        begin(page, "hello")
        at_rest(page)
        page.clock.install()
        line.cut()  # first: Chromium may not tell a page without a network that its socket is closed
        page.context.set_offline(True)
        until(page, lambda: len(tries(page)) >= 6)
        page.clock.pause_at(page.evaluate("Date.now() + 100"))
        before = len(tries(page))
        until(page, lambda: page.evaluate("ended") == before)
        line.flow()
        page.context.set_offline(False)
        until(page, lambda: len(tries(page)) == before + 1)
        page.clock.resume()
        at_rest(page)
        assert len(tries(page)) == before + 1


def test_a_message_that_cannot_be_sent_is_told_of(scripted: Site, visitors: Visitors) -> None:
    visitors.expected += REFUSED
    scripted.model.script(Reply(text="Yes?"), Reply(text="Now."))
    page = visitors.enter(scripted)
    begin(page, "hello")
    at_rest(page)
    page.context.set_offline(True)
    expect(page.locator("#connection")).to_have_attribute("data-state", "reconnecting")
    page.fill("#composer-text", "and now")
    page.press("#composer-text", "Enter")
    expect(page.locator("#composer-note")).to_contain_text("Not sent yet.")
    expect(page.locator("#composer-text")).to_have_value("and now")
    page.context.set_offline(False)
    expect(page.locator("article.turn").last).to_contain_text("Now.")
    expect(page.locator("#composer-note")).to_be_hidden()
    expect(page.locator("#composer-text")).to_have_value("")
    expect(page.locator("#connection")).to_have_attribute("data-state", "live")


def test_a_message_that_was_changed_before_it_could_be_sent_goes_out_changed(
    scripted: Site, visitors: Visitors
) -> None:
    visitors.expected += REFUSED
    scripted.model.script(Reply(text="Yes?"), Reply(text="Now."))
    page = visitors.enter(scripted)
    begin(page, "hello")
    at_rest(page)
    scripted.model.take_requests()
    page.context.set_offline(True)
    expect(page.locator("#connection")).to_have_attribute("data-state", "reconnecting")
    for text in ("On Wednesday", "Never mind", "On Thursday"):
        page.fill("#composer-text", text)
        page.press("#composer-text", "Enter")
        expect(page.locator("#composer-note")).to_contain_text("Not sent yet.")
    page.context.set_offline(False)
    expect(page.locator("article.turn").last).to_contain_text("Now.")
    expect(page.locator(".message[data-role=user]").last).to_contain_text("On Thursday")
    at_rest(page)
    expect(page.locator("article.turn")).to_have_count(2)

    page.context.set_offline(True)
    expect(page.locator("#connection")).to_have_attribute("data-state", "reconnecting")
    page.fill("#composer-text", "Delete it all")
    page.press("#composer-text", "Enter")
    expect(page.locator("#composer-note")).to_contain_text("Not sent yet.")
    page.fill("#composer-text", "")
    page.context.set_offline(False)
    at_rest(page)
    scripted.model.script(Reply(text="Good."))
    page.fill("#composer-text", "Thank you")
    page.press("#composer-text", "Enter")
    expect(page.locator("article.turn").last).to_contain_text("Good.")
    expect(page.locator("article.turn")).to_have_count(3)
    expect(page.locator("#transcript")).not_to_contain_text("Delete it all")


def test_a_line_that_went_dead_is_noticed(scripted: Site, visitors: Visitors) -> None:
    """Nothing closes the socket; no answer comes."""
    visitors.expected += REFUSED
    scripted.model.script(Reply(text="Yes?"))
    with Proxy(scripted.served.port) as line:
        page = visitors.enter(scripted, address=line.address)
        page.clock.install()
        begin(page, "hello")
        at_rest(page)
        line.stall()
        for _ in range(3):
            page.clock.run_for(8_000)
        expect(page.locator("#connection")).to_have_attribute("data-state", "reconnecting")
        line.flow()
        page.clock.run_for(8_000)
        expect(page.locator("#connection")).to_have_attribute("data-state", "live")


def test_a_dead_connection_is_replaced(scripted: Site, visitors: Visitors) -> None:
    """As when a router forgets it: nothing closes the socket, and nothing passes on it any more."""
    visitors.expected += REFUSED
    scripted.model.script(Reply(text="Yes?"), Reply(text="Here it is."))
    with Proxy(scripted.served.port) as line:
        page = visitors.enter(scripted, address=line.address)
        page.clock.install()
        begin(page, "hello")
        at_rest(page)
        line.lose()
        page.clock.run_for(24_000)
        expect(page.locator("#connection")).to_have_attribute("data-state", "reconnecting")
        page.clock.run_for(8_000)
        until(page, lambda: is_live_a_second_later(page))
        send(page, "and now")
        expect(page.locator("article.turn").last).to_contain_text("Here it is.")
