"""A stranger's first minute: the printed link, the composer, and that the link opens the door once."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, begin, last_turn
from tests.serving import serving


def test_from_the_link_to_the_first_answer(browser: Browser, visitors: Visitors) -> None:
    with serving(bare=True) as served:
        site = Site(served, browser)
        page = visitors.enter(site, signed_in=False)
        page.goto(served.link)
        assert page.url == f"{served.address}/"
        expect(page.locator("#composer-text")).to_be_focused()
        expect(page.locator(".demo-label")).to_contain_text("no AI")
        begin(page, "hello")
        at_rest(page)
        expect(last_turn(page, "completed").locator("[data-role='assistant']")).to_be_visible()

        page.close()
        visitors.expected.append("status of 410 (Gone)")
        late = visitors.enter(site, signed_in=False)
        answer = late.goto(served.link)
        assert answer is not None
        assert answer.status == 410
        expect(late.locator("h1")).to_have_text("This link has expired or was already used")
        late.goto("/")
        expect(late).to_have_url(f"{served.address}/accounts/login/?next=/")
        visitors.close()


def test_the_first_page_says_what_to_do(demo: Site, visitors: Visitors) -> None:
    page = visitors.enter(demo)
    page.goto("/")
    expect(page.locator(".welcome__facts > li")).to_have_count(3)
    idea = page.get_by_role("button", name="Refactor these five files")
    idea.click()
    expect(page.locator("#composer-text")).to_have_value("Refactor these five files")
    expect(page.locator("#composer-text")).to_be_focused()
    assert page.url == f"{demo.served.address}/", "nothing is sent yet"
    other = page.locator("[data-fill]").filter(has_not_text="Refactor").first
    other.click()
    expect(page.locator("#composer-text")).to_have_value(other.inner_text())
    page.fill("#composer-text", "My own words")
    idea.click()
    expect(page.locator("#composer-text")).to_have_value("My own words\n\nRefactor these five files")
    page.get_by_role("link", name="Connect a real model").click()
    expect(page).to_have_title("Add a connection")
    expect(page.get_by_role("button", name="Save")).to_be_visible()
