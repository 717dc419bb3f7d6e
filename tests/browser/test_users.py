"""An administrator adds a user, who signs in with the link, renames, deactivates and deletes them."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, expect

from tests.browser.site import Site, Visitors
from tests.browser.talk import at_rest, begin
from tests.browser.test_account import new_link
from tests.serving import serving


def test_from_the_link_to_the_deactivation(browser: Browser, visitors: Visitors) -> None:
    with serving() as served:
        site = Site(served, browser)
        page = visitors.enter(site)
        visitors.expected.append("status of 400 (Bad Request)")
        page.goto("/settings/users/")
        page.get_by_role("link", name="Add a user").click()
        page.get_by_label("User name").fill("owner")
        page.get_by_role("button", name="Add and get a sign-in link").click()
        expect(page.locator(".field__error")).to_have_text("This name is taken.")
        expect(page.get_by_label("User name")).to_have_value("owner")
        page.get_by_label("User name").fill("ada")
        page.get_by_role("button", name="Add and get a sign-in link").click()
        expect(page.locator(".messages")).to_contain_text("“ada” added.")
        link = page.get_by_label("Sign-in link").input_value()
        assert link.startswith(f"{served.address}/sign-in/")
        page.reload()
        expect(page.get_by_label("User name")).to_have_value("")

        theirs = visitors.enter(site, signed_in=False)
        theirs.goto(link)
        theirs.get_by_role("button", name="Sign in as ada").click()
        expect(theirs.locator(".sidebar__user")).to_have_text("Signed in as ada")
        theirs.get_by_role("button", name="Not now").click()
        begin(theirs, "hello")
        at_rest(theirs)

        page.goto("/settings/users/")
        page.get_by_role("link", name="ada", exact=True).click()
        page.get_by_role("button", name="Deactivate").click()
        page.get_by_role("alertdialog").get_by_role("button", name="Deactivate").click()
        expect(page.locator(".messages")).to_contain_text("ada deactivated and signed out.")
        theirs.wait_for_url("**/accounts/login/?next=**")
        theirs.goto("/")
        expect(theirs).to_have_url(re.compile(r"/accounts/login/\?next=/$"))

        page.get_by_role("button", name="Reactivate").click()
        expect(page.locator(".messages")).to_contain_text("ada reactivated.")
        page.get_by_role("button", name="New sign-in link").click()
        theirs.goto(page.get_by_label("Sign-in link").input_value())
        theirs.get_by_role("button", name="Sign in as ada").click()
        expect(theirs.locator(".sidebar__user")).to_have_text("Signed in as ada")

        theirs.get_by_role("link", name="Sign out").click()
        expect(theirs.locator("main")).to_contain_text("ask your administrator for one")
        theirs.get_by_role("link", name="Stay signed in").click()

        # What one user did not send is not for who signs in after them.
        theirs.goto("/")
        theirs.fill("#composer-text", "For ada alone")
        theirs.goto(new_link(served))
        theirs.get_by_role("button", name="Sign in as owner").click()
        expect(theirs.locator(".sidebar__user")).to_have_text("Signed in as owner")
        expect(theirs.locator("#composer-text")).to_have_value("")
        page.goto("/settings/users/")
        page.get_by_role("link", name="ada", exact=True).click()
        page.get_by_role("button", name="New sign-in link").click()
        theirs.goto(page.get_by_label("Sign-in link").input_value())
        theirs.get_by_role("button", name="Sign in as ada").click()
        expect(theirs.locator("#composer-text")).to_have_value("For ada alone")
        visitors.close()


def test_users_are_renamed_and_deleted(browser: Browser, visitors: Visitors) -> None:
    with serving() as served:
        site = Site(served, browser)
        page = visitors.enter(site)
        visitors.expected.append("status of 400 (Bad Request)")
        page.goto("/settings/users/add/")
        page.get_by_label("User name").fill("ada")
        page.get_by_role("button", name="Add and get a sign-in link").click()
        theirs = visitors.enter(site, signed_in=False)
        theirs.goto(page.get_by_label("Sign-in link").input_value())
        theirs.get_by_role("button", name="Sign in as ada").click()
        theirs.get_by_role("button", name="Not now").click()
        begin(theirs, "hello")
        at_rest(theirs)

        save = page.get_by_role("main").get_by_role("button", name="Save")
        page.get_by_label("User name").fill("owner")
        save.click()
        expect(page.locator(".field__error")).to_have_text("This name is taken.")
        expect(page.get_by_label("User name")).to_have_value("owner")
        expect(page.locator("h1")).to_have_text("ada")
        page.get_by_label("User name").fill("Ada")
        save.click()
        expect(page.locator(".messages")).to_contain_text("Renamed to “Ada”.")
        expect(page.locator("h1")).to_have_text("Ada")

        question = page.get_by_role("alertdialog")
        page.get_by_role("button", name="Delete").click()
        expect(question).to_contain_text("Delete Ada?")
        expect(question.get_by_role("button", name="Cancel")).to_be_focused()
        page.keyboard.press("Enter")
        expect(question).to_have_count(0)
        page.get_by_role("button", name="Delete").click()
        question.get_by_role("button", name="Delete").click()
        expect(page.locator(".messages")).to_contain_text("“Ada” deleted.")
        expect(page).to_have_url(f"{served.address}/settings/users/")
        expect(page.get_by_role("link", name="Ada", exact=True)).to_have_count(0)
        theirs.wait_for_url("**/accounts/login/?next=**")

        page.get_by_role("link", name="owner", exact=True).click()
        expect(page.get_by_role("button", name="Delete")).to_have_count(0)
        page.get_by_label("User name").fill("chief")
        save.click()
        expect(page.locator(".messages")).to_contain_text("Renamed to “chief”.")
        expect(page.locator(".sidebar__user")).to_have_text("Signed in as chief")
        visitors.close()


def test_users_are_added_deactivated_and_deleted_without_scripts(
    browser: Browser, visitors: Visitors
) -> None:
    with serving() as served:
        page = visitors.enter(Site(served, browser), java_script_enabled=False)
        page.goto("/settings/users/add/")
        page.get_by_label("User name").fill("ada")
        page.get_by_role("button", name="Add and get a sign-in link").click()
        expect(page.get_by_label("Sign-in link")).to_have_value(
            re.compile(f"^{re.escape(served.address)}/sign-in/.+/\\?ask=1$")
        )
        page.get_by_role("button", name="Deactivate").click()
        page.get_by_role("alertdialog").get_by_role("button", name="Deactivate").click()
        expect(page.locator("main .endpoint__notes")).to_contain_text("Deactivated")
        page.get_by_role("button", name="Delete").click()
        page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
        expect(page.locator(".messages")).to_contain_text("“ada” deleted.")
