"""Without JavaScript: everything can still be done with forms, and the record is there to read."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.site import Site, Visitors
from tests.browser.talk import is_folded, panel, until


def ended(page: Page, count: int, status: str = "completed") -> None:
    """Load the page again, as a user without scripts does, until its turns have ended so."""

    def looked() -> bool:
        page.reload()
        return page.locator(f"article.turn[data-status='{status}']").count() == count

    until(page, looked)


def test_begin_read_and_go_on(demo: Site, visitors: Visitors) -> None:
    """Signing in needs no script either: the site's owner came in without one."""
    page = visitors.enter(demo, java_script_enabled=False)
    page.goto("/")
    page.fill("#composer-text", "1. look around\n2. read the files")
    page.click("#send")
    page.wait_for_url("**/conversations/*/")
    ended(page, 1)
    is_folded(page)
    assert panel(page).get_attribute("data-done") == panel(page).get_attribute("data-total") == "2"
    panel(page).locator("summary").click()
    expect(page.locator("#todo-panel .todo").first).to_be_visible()
    expect(page.locator("#connection")).to_be_hidden()
    expect(page.locator("#stop")).to_be_hidden()

    page.fill("#composer-text", "hello")
    with page.expect_navigation():  # the form leads back to the page it is on
        page.click("#send")
    ended(page, 2)
    visitors.expected.append("status of 400 (Bad Request)")
    page.fill("#composer-text", "   ")
    page.click("#send")
    expect(page.locator("#composer-note")).to_have_text("The message is empty.")
    page.goto("/conversations/")
    expect(page.locator("main .conversation-row").first).to_contain_text("look around")


def test_stop(demo: Site, visitors: Visitors) -> None:
    page = visitors.enter(demo, java_script_enabled=False)
    page.goto("/")
    page.fill("#composer-text", "Show me a forgotten list")
    page.click("#send")
    page.wait_for_url("**/conversations/*/")
    with page.expect_navigation():
        page.click("#stop")
    ended(page, 1, "stopped")
