"""A phone's Back closes what covers the page, and stays; what is closed otherwise leaves no entry behind."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from chat.demo.reply import Reply
from tests.browser.site import Site, Visitors
from tests.browser.talk import LIVE, at_rest, begin, panel, todo, until

COVERED = "history.state?.cover === true"
BARE = "!history.state?.cover"


@pytest.fixture
def page(scripted: Site, visitors: Visitors) -> Page:
    """A phone with a conversation that has files and a plan, to which its user came from the board."""
    page = visitors.enter(scripted, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    written = Reply(tool_calls=[("write_file", {"path": "a.txt", "content": "some text"})])
    scripted.model.script(todo("completed", "pending"), written, Reply(text="Half of it.\n\n" * 40))
    path = urlsplit(begin(page, "Covered talk")).path
    at_rest(page)
    page.goto("/board/")
    page.locator(f"#content a[href='{path}']").first.click()
    page.wait_for_selector(LIVE)
    expect(page.locator(".bar__files")).to_be_visible()
    page.evaluate("document.documentElement.dataset.mark = 'here'")
    return page


def drawer(page: Page) -> Locator:
    page.locator(".bar__menu").tap()
    return page.locator("#sidebar")


def file_view(page: Page) -> Locator:
    page.locator(".bar__files").tap()
    page.locator("#files-panel .file-row .files__link", has_text="a.txt").tap()
    return page.locator("#files-panel .files--one")


def editor(page: Page) -> Locator:
    page.locator(".message[data-role=user]").hover()
    page.get_by_role("link", name="Edit").tap()
    return page.locator("#turn-dialog")


def plan(page: Page) -> Locator:
    panel(page).locator("summary").tap()
    return panel(page).locator(".todo").last


COVERS = [drawer, file_view, editor, plan]


def scrolled(page: Page) -> float:
    return float(page.locator("#scroll").evaluate("view => view.scrollTop"))


def is_at(page: Page, heading: str) -> None:
    expect(page.locator("#content h1")).to_have_text(heading)


def leads_to_the_board(page: Page) -> None:
    page.go_back()
    is_at(page, "Board")


def test_back_closes_what_covers_the_page(page: Page) -> None:
    address = page.url
    page.locator("#scroll").evaluate("view => view.scrollTop = 100")
    for opened_by in COVERS:
        shown = opened_by(page)
        expect(shown).to_be_visible()
        before = scrolled(page)
        until(page, lambda: page.evaluate(COVERED))
        page.go_back()
        expect(shown).to_be_hidden()
        expect(page).to_have_url(address)
        if opened_by is file_view:  # its list is there still
            page.go_back()
            expect(page.locator("#files-panel")).to_be_hidden()
        assert page.evaluate(BARE)
        assert scrolled(page) == before
    assert page.locator("html[data-mark=here]").count() == 1
    leads_to_the_board(page)


@pytest.mark.parametrize("opened_by", COVERS)
def test_closed_otherwise_it_leaves_no_trace(page: Page, opened_by: Callable[[Page], Locator]) -> None:
    for _time in range(2):
        shown = opened_by(page)
        expect(shown).to_be_visible()
        until(page, lambda: page.evaluate(COVERED))
        if opened_by is plan:
            panel(page).locator("summary").tap()
        elif opened_by is file_view:
            page.locator(".files-panel__close").tap()
        else:
            page.keyboard.press("Escape")
        expect(shown).to_be_hidden()
        until(page, lambda: page.evaluate(BARE))
    page.go_forward()
    until(page, lambda: page.evaluate(BARE))
    leads_to_the_board(page)


def test_back_leads_from_a_file_to_the_list(page: Page) -> None:
    page.locator(".bar__files").tap()
    rows = page.locator("#files-panel .file-row[data-kind=file] .files__link")
    file = page.locator("#files-panel .files--one")
    for way_up in ("back", "link"):
        rows.first.tap()
        expect(file).to_be_visible()
        if way_up == "back":
            page.go_back()
        else:
            file.locator(".files__title .files__link").tap()
        expect(rows.first).to_be_visible()
        expect(file).to_have_count(0)
    page.go_back()
    expect(page.locator("#files-panel")).to_be_hidden()
    assert page.evaluate(BARE)
    page.locator(".bar__files").tap()
    rows.first.tap()
    expect(file).to_be_visible()
    page.locator(".files-panel__close").tap()
    until(page, lambda: page.evaluate(BARE))
    page.locator(".bar__files").tap()
    expect(rows.first).to_be_visible()
    page.go_back()
    expect(page.locator("#files-panel")).to_be_hidden()
    leads_to_the_board(page)


def test_a_link_in_the_drawer_is_followed(page: Page) -> None:
    address = page.url
    page.locator("#scroll").evaluate("view => view.scrollTop = 100")
    drawer(page).get_by_role("link", name="All conversations").tap()
    is_at(page, "Conversations")
    expect(page.locator("#sidebar")).to_be_hidden()
    page.go_back()
    is_at(page, "Covered talk")
    expect(page).to_have_url(address)
    until(page, lambda: scrolled(page) == 100)
    expect(page.locator("#sidebar")).to_be_hidden()

    drawer(page).locator("[aria-current=page]").tap()
    expect(page.locator("#sidebar")).to_be_hidden()
    until(page, lambda: page.evaluate(BARE))
    leads_to_the_board(page)
    page.go_forward()
    is_at(page, "Covered talk")


def test_a_reload_and_a_wider_window_close_it(page: Page) -> None:
    drawer(page)
    until(page, lambda: page.evaluate(COVERED))
    page.reload()
    page.wait_for_selector(LIVE)
    until(page, lambda: page.evaluate(BARE))
    drawer(page)
    until(page, lambda: page.evaluate(COVERED))
    page.set_viewport_size({"width": 1280, "height": 800})
    until(page, lambda: page.evaluate(BARE))
    page.locator(".bar__files").tap()
    expect(page.locator("#files-panel")).to_be_visible()
    assert page.evaluate(BARE)
    leads_to_the_board(page)


def test_what_a_dialog_does_leads_on(page: Page) -> None:
    """A form that leads to another page leaves no entry of its dialog behind."""
    page.get_by_role("button", name="Conversation menu").tap()
    page.locator("#conversation-menu .menu__item--danger").tap()
    until(page, lambda: page.evaluate(COVERED))
    page.locator("#delete-dialog").get_by_role("button", name="Delete").tap()
    page.wait_for_url("**/conversations/")
    assert page.evaluate(BARE)
