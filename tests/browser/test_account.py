"""A fresh site's owner sets a password, keeps what is open here, and closes what is open elsewhere."""

from __future__ import annotations

import subprocess
import sys

from playwright.sync_api import Browser, Page, expect

from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, begin, send, turns
from tests.serving import ROOT, Served, serving

GOOD = "correct horse battery"


def new_link(served: Served) -> str:
    """What `manage.py sign-in-link` prints while the site runs."""
    command = [sys.executable, "manage.py", "sign-in-link", "owner", "--address", served.address]
    ran = subprocess.run(
        command, cwd=ROOT, env=served.environment, capture_output=True, text=True, timeout=60
    )
    return ran.stdout.partition("Sign in: ")[2].split()[0]


def save_password(page: Page, new: str) -> None:
    page.get_by_label("New password", exact=True).fill(new)
    page.get_by_label("Confirm new password").fill(new)
    page.get_by_role("main").get_by_role("button", name="Save").click()


def test_from_the_link_to_a_password(browser: Browser, visitors: Visitors) -> None:
    with serving() as served:
        site = Site(served, browser)
        page = visitors.enter(site, signed_in=False)
        page.goto(served.link)
        page.get_by_role("button", name="Not now").click()
        expect(page.locator("#composer-text")).to_be_focused()
        expect(page.locator(".password-note")).to_have_count(0)
        page.get_by_role("link", name="Sign out").click()
        expect(page.locator("h1")).to_have_text("Sign out without a password?")
        page.get_by_role("button", name="Sign out anyway").click()
        page.wait_for_url("**/accounts/login/")
        page.goto(new_link(served))

        open_here = page.context.new_page()
        begin(open_here, "hello")
        at_rest(open_here)
        elsewhere = visitors.enter(site, signed_in=False)
        elsewhere.goto(new_link(served))
        elsewhere.goto(open_here.url)
        at_rest(elsewhere)
        expect(turns(elsewhere)).to_have_count(1)

        page.get_by_role("link", name="Set a password").click()
        visitors.expected.append("status of 400 (Bad Request)")
        save_password(page, "12345678")
        expect(page.locator(".field__error").first).to_be_visible()
        save_password(page, GOOD)
        expect(page.locator(".messages")).to_contain_text("Password saved.")
        elsewhere.wait_for_url("**/accounts/login/?next=**")
        send(open_here, "what is typed here is not lost")
        at_rest(open_here)

        form = page.context.new_page()
        form.goto("/settings/profiles/add/")
        form.get_by_label("Instructions").fill("Answer in verse.")
        form.get_by_label("Shell commands").select_option("ask")
        page.goto("/")
        expect(page.locator(".password-note")).to_have_count(0)
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url("**/accounts/login/")
        open_here.wait_for_url("**/accounts/login/?next=**")
        expect(page.get_by_label("User name")).to_be_focused()
        page.keyboard.type("owner")
        page.get_by_label("Password").fill("mistyped")
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator(".errorlist")).to_be_visible()
        expect(page.get_by_label("User name")).to_have_value("owner")
        expect(page.get_by_label("Password")).to_be_focused()
        page.keyboard.type(GOOD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{served.address}/")
        page.go_back()
        page.wait_for_url(f"{served.address}/")  # and not to the password that was wrong

        for tab in (open_here, form):
            tab.get_by_label("User name").fill("owner")
            tab.get_by_label("Password").fill(GOOD)
            tab.get_by_role("button", name="Sign in").click()
        expect(turns(open_here)).to_have_count(2)
        expect(form.get_by_label("Instructions")).to_have_value("Answer in verse.")
        expect(form.get_by_label("Shell commands")).to_have_value("ask")
        expect(form.get_by_role("alert")).to_contain_text("this is not saved yet")
        visitors.close()
