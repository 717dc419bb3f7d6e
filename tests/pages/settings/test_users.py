"""Users in the settings: added, signed in with a link, deactivated, and made administrators."""

from __future__ import annotations

import html
import logging
import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client

from chat.models import AccessRefused, Conversation, SignInLink, change_access
from tests.pages.routes import names_for

LIST = "/settings/users/"
ADD = "/settings/users/add/"


@pytest.fixture
def boss(db: Any) -> User:
    return User.objects.create_superuser("boss")


@pytest.fixture
def bosses(boss: User, browser_of: Callable[[User], Client]) -> Client:
    return browser_of(boss)


def link_on(page: str) -> str:
    [link] = re.findall(r'value="(http://[^"]+/sign-in/[^"]+)"', page)
    assert link.endswith("/?ask=1")
    return html.unescape(link)


def follow(browser: Client, link: str) -> None:
    """Open the link and press its button."""
    assert "Sign in as" in browser.get(link).content.decode()
    browser.get(link.replace("?ask=1", "?confirmed=1"))


def is_in(browser: Client) -> bool:
    return browser.get("/").status_code == 200


def change(browser: Client, account: User, what: str) -> Any:
    return browser.post(f"{LIST}{account.pk}/access/", {"change": what}, follow=True)


def test_only_superusers_may(browser_of: Callable[[User], Client], owner: User, stranger: User) -> None:
    assert {"users", "add_user", "user", "change_user_access"} <= set(names_for("superuser"))
    User.objects.filter(pk=stranger.pk).update(is_staff=True)
    for browser in (browser_of(owner), browser_of(stranger)):
        assert LIST not in browser.get("/settings/preferences/").content.decode()
        for path in (LIST, ADD, f"{LIST}{owner.pk}/"):
            assert browser.get(path).status_code == 404
            assert browser.post(path, {"username": "new"}).status_code == 404
        assert browser.post(f"{LIST}{stranger.pk}/access/", {"change": "promote"}).status_code == 404
    assert User.objects.filter(is_superuser=False).count() == 2
    assert not SignInLink.objects.exists()


def test_the_list_says_who_is_who(bosses: Client, owner: User, stranger: User) -> None:
    User.objects.filter(pk=stranger.pk).update(is_active=False, is_staff=True)
    page = bosses.get(LIST).content.decode()
    rows = {name: row for row in page.split("<li")[1:] for name in re.findall(r'/users/\d+/">(\w+)</a>', row)}
    assert [name for name in rows if name != "All"] == ["boss", "owner", "stranger"]
    assert "You" in rows["boss"]
    assert "Administrator" in rows["boss"]
    assert "Last signed in" in rows["boss"]
    assert "Never signed in" in rows["owner"]
    assert "Administrator" not in rows["owner"]
    assert "Deactivated" in rows["stranger"]
    assert "Staff" in rows["stranger"]
    assert f'href="{LIST}"' in bosses.get("/settings/preferences/").content.decode()


def test_the_sidebar_says_who_is_signed_in(bosses: Client) -> None:
    assert "Signed in as boss" in bosses.get("/").content.decode()


def test_a_user_is_added_and_signs_in_with_the_link(bosses: Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    answer = bosses.post(ADD, {"username": "ada"}, headers={"Host": "localhost:8123"})
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]
    page = answer.content.decode()
    assert "“ada” added." in page
    assert "It works once, within an hour" in page
    link = link_on(page)
    assert link.startswith("http://localhost:8123/sign-in/")
    token = link.split("/")[-2]
    assert token not in caplog.text
    ada = User.objects.get(username="ada")
    assert not ada.has_usable_password()
    assert (ada.is_staff, ada.is_superuser) == (False, False)
    for path in (ADD, f"{LIST}{ada.pk}/", LIST):
        assert token not in bosses.get(path).content.decode(), "the link is shown once"
    assert token not in str(list(SignInLink.objects.values()))
    assert not [row for row in Session.objects.all() if token in str(row.get_decoded())]

    browser = Client()
    follow(browser, link)
    assert is_in(browser)
    assert Client().get(link).status_code == 410


def test_a_host_that_is_not_the_sites_gets_no_link(bosses: Client, owner: User) -> None:
    answer = bosses.post(f"{LIST}{owner.pk}/", headers={"Host": "evil.example"})
    assert answer.status_code == 400
    assert not SignInLink.objects.exists()


@pytest.mark.parametrize(
    ("host", "told"), [("127.0.0.1:8000", True), ("localhost", True), ("testserver", False)]
)
def test_links_that_only_this_machine_opens_say_so(bosses: Client, boss: User, host: str, told: bool) -> None:
    conversation = Conversation.begin(boss, "Hello", uuid.uuid4(), None)
    link = bosses.post(ADD, {"username": "ada"}, headers={"Host": host})
    share = bosses.get(f"/conversations/{conversation.pk}/share/", headers={"Host": host})
    for answer in (link, share):
        assert ("that only this machine can open" in answer.content.decode()) == told


def test_an_administrator_is_added(bosses: Client) -> None:
    bosses.post(ADD, {"username": "ada", "administrator": "on"})
    ada = User.objects.get(username="ada")
    assert (ada.is_staff, ada.is_superuser) == (True, True)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("boss", "This name is taken."),
        ("BOSS", "This name is taken."),
        ("two words", "Letters, digits and @ . + - _ without spaces."),
        ("", "This field is required."),
        ("x" * 151, "at most 150 characters"),
    ],
)
def test_a_name_that_is_refused_stays_in_the_form(bosses: Client, name: str, sentence: str) -> None:
    answer = bosses.post(ADD, {"username": name, "administrator": "on"})
    assert answer.status_code == 400
    page = answer.content.decode()
    assert sentence in page.partition("field__error")[2]
    assert not name or f'value="{name}"' in page
    assert re.search(r'<input[^>]*name="administrator"[^>]* checked', page)
    assert User.objects.count() == 1
    assert not SignInLink.objects.exists()


def test_a_new_link_signs_an_existing_user_in(bosses: Client, owner: User) -> None:
    answer = bosses.post(f"{LIST}{owner.pk}/")
    browser = Client()
    follow(browser, link_on(answer.content.decode()))
    assert "Signed in as owner" in browser.get("/").content.decode()


def test_deactivation_ends_sessions_and_links_for_good(
    bosses: Client, owner: User, owners: Client, strangers: Client
) -> None:
    link = link_on(bosses.post(f"{LIST}{owner.pk}/").content.decode())
    page = change(bosses, owner, "deactivate").content.decode()
    assert "owner deactivated and signed out." in page
    assert not is_in(owners)
    assert is_in(strangers)
    assert Client().get(link).status_code == 410
    page = bosses.post(f"{LIST}{owner.pk}/", follow=True).content.decode()
    assert "Reactivate owner first." in page
    assert "/sign-in/" not in page

    assert "owner reactivated." in change(bosses, owner, "reactivate").content.decode()
    assert not is_in(owners), "an old session does not come back"
    assert Client().get(link).status_code == 410, "nor does a link"
    follow(owners, link_on(bosses.post(f"{LIST}{owner.pk}/").content.decode()))
    assert is_in(owners)


def test_deactivation_in_the_administration_is_as_final(bosses: Client, owner: User, owners: Client) -> None:
    form = {"username": "owner", "date_joined_0": "2026-01-01", "date_joined_1": "00:00"}
    assert bosses.post(f"/admin/auth/user/{owner.pk}/change/", form).status_code == 302
    change(bosses, owner, "reactivate")
    assert not is_in(owners)


def test_administrators_are_made_and_unmade(bosses: Client, owner: User, owners: Client) -> None:
    assert "owner is now an administrator." in change(bosses, owner, "promote").content.decode()
    assert owners.get(LIST).status_code == 200
    assert owners.get("/admin/").status_code == 200
    assert "owner is no longer an administrator." in change(bosses, owner, "demote").content.decode()
    assert owners.get(LIST).status_code == 404
    assert is_in(owners)


@pytest.mark.parametrize("what", ["deactivate", "demote"])
def test_nobody_changes_their_own_access(bosses: Client, boss: User, what: str) -> None:
    page = bosses.get(f"{LIST}{boss.pk}/").content.decode()
    assert 'name="change"' not in page
    assert "You cannot change your own access." in change(bosses, boss, what).content.decode()
    boss.refresh_from_db()
    assert (boss.is_active, boss.is_superuser) == (True, True)


@pytest.mark.parametrize("access", [{"is_active": False}, {"is_superuser": False, "is_staff": False}])
def test_of_two_who_demote_each_other_one_stays(boss: User, access: dict[str, bool]) -> None:
    """Both requests have been let in as superusers before either is carried out."""
    second = User.objects.create_superuser("second")
    change_access(boss, second.pk, **access)
    with pytest.raises(AccessRefused, match="You are no longer an administrator"):
        change_access(second, boss.pk, **access)
    boss.refresh_from_db()
    assert (boss.is_active, boss.is_superuser) == (True, True)


def test_what_cannot_be_is_not_found(bosses: Client, owner: User) -> None:
    assert change(bosses, owner, "delete").status_code == 404
    assert bosses.get(f"{LIST}4711/").status_code == 404
    assert bosses.post(f"{LIST}4711/access/", {"change": "demote"}).status_code == 404
    assert bosses.get(f"{LIST}{owner.pk}/access/").status_code == 405
    owner.refresh_from_db()
    assert owner.is_active


def test_deleting_stays_in_the_administration(bosses: Client, boss: User, owner: User) -> None:
    link = f"/admin/auth/user/{owner.pk}/change/"
    assert link in bosses.get(f"{LIST}{owner.pk}/").content.decode()
    assert bosses.get(link).status_code == 200
    User.objects.filter(pk=boss.pk).update(is_staff=False)
    assert link not in bosses.get(f"{LIST}{owner.pk}/").content.decode()
