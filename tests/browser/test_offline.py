"""What is asked for without a connection says so, keeps what was typed, and works once the line is back."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import LIVE, another_tab, at_rest, begin, turns, until
from tests.browser.test_files import NARROW, WIDE, writes

SAID = "Could not reach the server. Try again."


@pytest.fixture
def talk(scripted: Site, visitors: Visitors) -> Callable[..., Page]:
    """Opens a page with a conversation that has a file, and cuts its line."""
    visitors.expected += ["ERR_INTERNET_DISCONNECTED", "Failed to fetch", "htmx:ws:error", "net::ERR_FAILED"]

    def begun(viewport: dict[str, int] = WIDE, address: str = "") -> Page:
        scripted.model.script(writes("notes.txt", "A quokka is small."), Reply(text="It is written."))
        page = visitors.enter(scripted, viewport=viewport)
        begin(page, "About marsupials")
        at_rest(page)
        expect(page.locator(".bar__files")).to_be_visible()
        page.goto(address or page.url)
        if not address:
            page.wait_for_selector(LIVE)
        cut(page)
        return page

    return begun


def cut(page: Page) -> None:
    page.context.set_offline(True)
    until(
        page, lambda: page.evaluate("fetch(location.href, { method: 'HEAD' }).then(() => false, () => true)")
    )


def back(page: Page) -> None:
    page.context.set_offline(False)


@pytest.mark.parametrize("viewport", [WIDE, NARROW])
def test_the_files_come_once_the_line_is_back(talk: Callable[..., Page], viewport: dict[str, int]) -> None:
    page = talk(viewport)
    page.click(".bar__files")
    expect(page.locator("#files-body")).to_have_text(SAID)
    said, cross = (page.locator(each).bounding_box() for each in ("#files-body > p", ".files-panel__close"))
    assert said
    assert cross
    assert said["x"] + said["width"] <= cross["x"]
    back(page)
    expect(page.locator("#files")).to_contain_text("notes.txt")
    expect(page.get_by_text(SAID)).to_have_count(0)
    cut(page)
    page.locator("#files").get_by_role("link", name="notes.txt").click()
    expect(page.locator("#files-panel .warning, body > .warning")).to_have_text(SAID)
    expect(page.locator("#files")).to_contain_text("notes.txt")


def test_a_files_new_name_is_kept(talk: Callable[..., Page]) -> None:
    page = talk()
    back(page)
    page.wait_for_selector(LIVE)
    page.click(".bar__files")
    page.locator(".file-row__more").click()
    cut(page)
    name = page.locator("#file-menu").get_by_label("Name")
    name.fill("ideas.txt")
    page.keyboard.press("Enter")
    expect(page.locator(".warning")).to_have_text(SAID)
    expect(name).to_have_value("ideas.txt")
    expect(name).to_be_focused()
    back(page)
    page.wait_for_selector(LIVE)
    page.keyboard.press("Enter")
    expect(page.locator("#files")).to_contain_text("ideas.txt")


def test_the_palette_looks_again(talk: Callable[..., Page]) -> None:
    page = talk()
    address = page.url
    page.keyboard.press("Control+k")
    page.keyboard.type("marsupials")
    page.keyboard.press("Enter")
    expect(page.locator("#palette-options:not([data-enter])")).to_have_text(SAID)
    back(page)
    option = page.locator("#palette [role=option]", has_text="About marsupials").first
    expect(option).to_be_visible()  # and is not taken: Enter is long gone
    expect(page.locator("#palette [role=combobox]")).to_have_value("marsupials")
    expect(page).to_have_url(address)


def test_the_menu_of_a_row_says_so_and_keeps_the_tag(talk: Callable[..., Page]) -> None:
    page = talk()
    row = page.locator("#sidebar .conversation-row").first
    row.hover()
    row.locator(".row-more").click()
    menu = page.locator("#row-menu")
    menu.get_by_label("Tag", exact=True).fill("weekly")
    menu.get_by_role("button", name="Add").click()
    expect(page.locator(".warning")).to_have_text(SAID)
    expect(menu.get_by_label("Tag", exact=True)).to_have_value("weekly")
    menu.get_by_role("button", name="Delete").click()
    page.locator("#row-delete").get_by_role("button", name="Delete").click()
    expect(page.locator("#row-delete .warning")).to_have_text(SAID)
    back(page)
    page.wait_for_selector(LIVE)
    page.locator("#row-delete").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("“About marsupials” deleted.")).to_be_visible()


def test_preferences_that_do_not_arrive_are_kept(talk: Callable[..., Page]) -> None:
    page = talk(address="/settings/preferences/")
    page.get_by_label("Theme").select_option("dark")
    page.get_by_role("button", name="Save", exact=True).first.click()
    expect(page.locator(".warning")).to_have_text(SAID)
    expect(page.get_by_label("Theme")).to_have_value("dark")
    back(page)
    page.get_by_role("button", name="Save", exact=True).first.click()
    expect(page.get_by_text("Preferences saved.")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


UNSENT = "Not sent yet. Your message will be sent when the connection is back."


def test_a_first_message_is_sent_once_the_line_is_back(talk: Callable[..., Page]) -> None:
    page = talk(address="/")
    page.fill("#composer-text", "About wombats")
    page.click("#send")
    expect(page.locator("#composer-note")).to_have_text(UNSENT)
    expect(page.locator(".warning")).to_have_count(0)
    back(page)
    page.wait_for_url("**/conversations/*/")
    at_rest(page)
    expect(turns(page)).to_contain_text("About wombats")
    expect(turns(page)).to_have_count(1)


def test_a_first_message_of_a_file_alone_is_sent_once_the_line_is_back(talk: Callable[..., Page]) -> None:
    page = talk(address="/")
    file = {"name": "wombat.txt", "mimeType": "text/plain", "buffer": b"text"}
    page.set_input_files("#composer-files", [file])  # type: ignore[list-item]
    page.click("#send")
    expect(page.locator("#composer-note")).to_have_text(UNSENT)
    back(page)
    page.wait_for_url("**/conversations/*/")
    at_rest(page)
    expect(turns(page).locator(".attachment")).to_have_text("wombat.txt")
    expect(turns(page)).to_have_count(1)


def test_a_first_message_that_is_changed_waits(talk: Callable[..., Page]) -> None:
    page = talk(address="/")
    page.fill("#composer-text", "About wombats")
    page.click("#send")
    expect(page.locator("#composer-note")).to_have_text(UNSENT)
    page.locator("#composer-text").press_sequentially(", please")
    expect(page.locator("#composer-note")).to_be_empty()


def queued(page: Page, text: str) -> None:
    """A message that waits for the line."""
    page.fill("#composer-text", text)
    page.click("#send")
    expect(page.locator("#composer-note")).to_have_text(UNSENT)


def begun_with(page: Page, text: str) -> None:
    """Wait until the sidebar has a conversation with this first message, and look at it."""
    row = page.locator("#sidebar .conversation-row", has_text=text)
    expect(row).to_have_count(1)
    row.get_by_role("link").click()
    page.wait_for_selector(LIVE)
    at_rest(page)
    expect(turns(page)).to_have_count(1)
    expect(turns(page)).to_contain_text(text)
    expect(page.locator("#composer-text")).to_have_value("")


PLACES = ["/", "/board/", "/settings/preferences/"]


@pytest.mark.parametrize("address", PLACES)
def test_a_first_message_is_sent_after_its_tab_was_closed(talk: Callable[..., Page], address: str) -> None:
    page = talk(address="/")
    said = f"About wombats and {uuid.uuid4()}"
    queued(page, said)
    other = page.context.new_page()
    page.close()
    back(other)
    other.goto(address)
    if address == "/":
        expect(other.locator("#composer-note")).to_contain_text("has been sent now")
        other.locator("#composer-note").get_by_role("link", name="Open").click()
        expect(turns(other)).to_contain_text(said)
        other.go_back()
        expect(other.locator(".welcome")).to_be_visible()
    begun_with(other, said)


def test_a_first_message_that_did_not_arrive_is_sent_by_the_next_page(talk: Callable[..., Page]) -> None:
    """Also where another conversation is looked at first, which is not the one that it was to begin."""
    page = talk(address="/")
    back(page)
    page.route(lambda address: urlsplit(address).path == "/", lambda route: route.abort("failed"))
    said = f"About wombats and {uuid.uuid4()}"
    queued(page, said)
    page.locator(".sidebar").get_by_role("link", name="About marsupials").first.click()
    page.wait_for_selector(LIVE)
    page.unroute_all()
    page.get_by_role("link", name="New conversation").click()
    expect(page.locator(".welcome")).to_be_visible()
    expect(page.locator("#composer-note").get_by_role("link", name="Open")).to_be_visible()
    begun_with(page, said)
    page.get_by_role("link", name="New conversation").click()
    expect(page.locator(".welcome")).to_be_visible()
    expect(page.locator("#composer-text")).to_have_value("")


def test_a_first_message_with_a_file_is_sent_after_its_tab_was_closed(talk: Callable[..., Page]) -> None:
    page = talk(address="/")
    file = {"name": "wombat.txt", "mimeType": "text/plain", "buffer": b"text"}
    page.set_input_files("#composer-files", [file])  # type: ignore[list-item]
    queued(page, "About this file")
    other = page.context.new_page()
    page.close()
    back(other)
    other.goto("/")
    expect(other.locator("#composer-note")).to_have_text(UNSENT)
    other.wait_for_url("**/conversations/*/")
    at_rest(other)
    expect(turns(other).locator(".attachment")).to_have_text("wombat.txt")
    expect(turns(other)).to_have_count(1)


@pytest.mark.parametrize("address", PLACES)
def test_a_message_is_sent_from_another_page(talk: Callable[..., Page], address: str) -> None:
    page = talk()
    where = urlsplit(page.url).path
    queued(page, "And about wombats")
    other = page.context.new_page()
    page.close()
    back(other)
    other.goto(address)
    until(
        other,
        lambda: other.evaluate("Object.keys(localStorage).filter(key => key.startsWith('draft'))") == [],
    )
    other.goto(where)
    other.wait_for_selector(LIVE)
    at_rest(other)
    expect(turns(other)).to_have_count(2)
    expect(turns(other).last).to_contain_text("And about wombats")


def test_a_draft_that_was_changed_and_sent_from_another_tab_is_gone(talk: Callable[..., Page]) -> None:
    """Its tab was closed without a connection, and the page where it was typed first sends it."""
    page = talk()
    back(page)
    page.wait_for_selector(LIVE)
    page.fill("#composer-text", "And about wombats")
    other = another_tab(page)
    page.get_by_role("link", name="Board").click()
    expect(page.locator("h1")).to_have_text("Board")
    cut(page)
    queued(other, "And about wombats, please")
    other.close()
    back(page)
    until(
        page, lambda: page.evaluate("Object.keys(localStorage).filter(key => key.startsWith('draft'))") == []
    )
    page.go_back()
    page.wait_for_selector(LIVE)
    at_rest(page)
    expect(turns(page)).to_have_count(2)
    expect(turns(page).last).to_contain_text("And about wombats, please")
    expect(page.locator("#composer-text")).to_have_value("")


def test_a_stop_that_does_not_arrive_leaves_what_is_said_of_a_message(
    scripted: Site, visitors: Visitors
) -> None:
    visitors.expected += ["ERR_INTERNET_DISCONNECTED", "Failed to fetch", "htmx:ws:error", "WebSocket"]
    gate = threading.Event()
    scripted.model.script(Reply(text="I work", stall_after=1, gate=gate), Reply(text="And that."))
    page = visitors.enter(scripted)
    begin(page, "Work")
    page.wait_for_selector(LIVE)
    cut(page)
    page.wait_for_selector("#connection:not([data-state=live])")
    page.fill("#composer-text", "And that")
    page.press("#composer-text", "Enter")
    expect(page.locator("#composer-note")).to_have_text(UNSENT)
    page.click("#stop")
    warning = page.locator(".warning")
    expect(warning).to_have_text(SAID)
    expect(page.locator("#composer-note")).to_have_text(UNSENT)
    page.evaluate(
        "addEventListener('live', () => (warned = document.querySelector('.warning')), { once: true })"
    )
    back(page)
    page.wait_for_selector(LIVE)
    assert page.evaluate("warned") is None, "it is gone as soon as the server is reached"
    gate.set()
    expect(turns(page)).to_have_count(2)
    at_rest(page)
