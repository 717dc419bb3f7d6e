"""A conversation that leaves the site: as a file that is opened without it, and by a link."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, begin, send, todo, turns

MENU = "Conversation menu"
ITEMS = ".reading__plan > .plan__list > .plan-line"


@pytest.fixture
def page(scripted: Site, visitors: Visitors) -> Page:
    """A conversation with a list, a call and two blocks of text, which is over."""
    scripted.model.script(
        todo("in_progress", "pending"),
        Reply(tool_calls=[("read_file", {"path": "."})]),
        todo("completed", "in_progress"),
        Reply(text="The first block.\n\nThe second block."),
    )
    page = visitors.enter(scripted, accept_downloads=True)
    begin(page, "Do two things")
    at_rest(page)
    return page


def fetch(page: Page, kind: str, to: Path) -> Path:
    """Export it from the menu."""
    page.get_by_role("button", name=MENU).click()
    with page.expect_download() as download:
        page.get_by_role("link", name=kind, exact=True).click()
    page.keyboard.press("Escape")
    path = to / download.value.suggested_filename
    download.value.save_as(path)
    return path


def test_the_page_of_a_file_needs_nothing(page: Page, visitors: Visitors, tmp_path: Path) -> None:
    path = fetch(page, "HTML", tmp_path)
    assert path.name == "Do two things.html"
    visitors.expected.append(f"request: {path.as_uri()}")
    context = page.context.browser.new_context(offline=True, java_script_enabled=False)  # type: ignore[union-attr]
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    visitors.contexts.append(context)
    alone = context.new_page()
    alone.on("console", lambda message: asked.append(message.text))
    alone.goto(path.as_uri())
    expect(alone.get_by_role("heading", name="Do two things")).to_be_visible()
    expect(alone.locator(ITEMS)).to_have_count(2)
    expect(alone.get_by_text("The second block.")).to_be_visible()
    card = alone.locator(".tool-call")
    card.locator("summary").click()
    expect(card.locator(".tool-call__output")).to_be_visible()
    alone.get_by_role("link", name="To-dos updated").first.click()
    expect(alone).to_have_url(re.compile(r"#revision-\d+$"))
    assert asked == [path.as_uri()], "nothing else was asked for, and nobody complained"


def test_a_file_comes_back(page: Page, scripted: Site, tmp_path: Path) -> None:
    path = fetch(page, "JSON", tmp_path)
    page.goto("/conversations/")
    page.get_by_role("link", name="Import").click()
    page.set_input_files("input[type=file]", path)
    page.locator("main").get_by_role("button", name="Import").click()
    expect(turns(page)).to_have_count(1)
    expect(page.locator("#todo-panel[data-done='1'][data-total='2']")).to_be_attached()
    scripted.model.script(Reply(text="It goes on."))
    send(page, "Hello again")
    at_rest(page)
    expect(page.get_by_text("It goes on.")).to_be_visible()


def test_a_link_for_anybody(page: Page, scripted: Site, visitors: Visitors) -> None:
    page.get_by_role("button", name=MENU).click()
    page.get_by_role("link", name="Share", exact=True).click()
    page.get_by_role("button", name="Create link").click()
    address = page.get_by_role("textbox", name="Link").input_value()
    stranger = visitors.enter(scripted, signed_in=False)
    stranger.goto(address)
    expect(stranger.get_by_text("The second block.")).to_be_visible()
    expect(stranger.locator(ITEMS)).to_have_count(2)
    stranger.get_by_role("link", name="Replay").click()
    stranger.keyboard.press("End")
    expect(stranger.get_by_text("The second block.")).to_be_visible()
    assert stranger.context.cookies() == []
    page.get_by_role("button", name="Revoke").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Revoke").click()
    expect(page.locator(".share-link[data-live=false]")).to_be_visible()
    visitors.expected.append("410")
    stranger.goto(address)
    expect(stranger.get_by_text("This link was revoked")).to_be_visible()
