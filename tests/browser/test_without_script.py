"""Without JavaScript: everything can still be done with forms, and the record is there to read."""

from __future__ import annotations

from playwright.sync_api import Browser, Page, expect

from tests.browser.site import Site, Visitors
from tests.browser.talk import is_folded, panel, until
from tests.serving import serving


def ended(page: Page, count: int) -> None:
    """Load the page again, as a person without scripts does, until its turns have ended."""

    def looked() -> bool:
        page.reload()
        return page.locator("article.turn[data-status='completed']").count() == count

    until(page, looked)


def test_sign_in_begin_read_and_go_on(browser: Browser, visitors: Visitors) -> None:
    with serving() as served:
        page = visitors.enter(Site(served, browser), signed_in=False, java_script_enabled=False)
        page.goto(served.link)
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
        page.click("#send")
        ended(page, 2)
        page.fill("#composer-text", "   ")
        visitors.expected.append("status of 400 (Bad Request)")
        page.click("#send")
        expect(page.locator("#composer-note")).to_have_text("The message is empty.")
        page.goto("/conversations/")
        expect(page.locator("main .conversation-row")).to_have_count(1)
