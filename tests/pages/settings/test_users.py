"""Users in the settings: added, renamed, signed in with a link, deactivated, made administrators, deleted."""

from __future__ import annotations

import html
import logging
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client

from chat.models import (
    AccessRefused,
    BulkAct,
    Connection,
    Conversation,
    DailyUsage,
    Profile,
    SignInLink,
    change_access,
)
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
    ours = {"users", "add_user", "user", "change_user_access", "delete_user"}
    assert ours <= set(names_for("superuser"))
    User.objects.filter(pk=stranger.pk).update(is_staff=True)
    for browser in (browser_of(owner), browser_of(stranger)):
        assert LIST not in browser.get("/settings/preferences/").content.decode()
        for path in (LIST, ADD, f"{LIST}{owner.pk}/"):
            assert browser.get(path).status_code == 404
            assert browser.post(path, {"username": "new"}).status_code == 404
        assert browser.post(f"{LIST}{stranger.pk}/access/", {"change": "promote"}).status_code == 404
        assert browser.post(f"{LIST}{stranger.pk}/delete/").status_code == 404
    assert set(User.objects.values_list("username", "is_superuser")) == {
        ("owner", False),
        ("stranger", False),
    }
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


REFUSED_NAMES = pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("boss", "This name is taken."),
        ("BOSS", "This name is taken."),
        ("two words", "Letters, digits and @ . + - _ without spaces."),
        ("", "This field is required."),
        ("x" * 151, "at most 150 characters"),
    ],
)


@REFUSED_NAMES
def test_a_name_that_is_refused_stays_in_the_form(bosses: Client, name: str, sentence: str) -> None:
    answer = bosses.post(ADD, {"username": name, "administrator": "on"})
    assert answer.status_code == 400
    page = answer.content.decode()
    assert sentence in page.partition("field__error")[2]
    assert not name or f'value="{name}"' in page
    assert re.search(r'<input[^>]*name="administrator"[^>]* checked', page)
    assert User.objects.count() == 1
    assert not SignInLink.objects.exists()


@pytest.mark.parametrize("name", ["bo", "Owner"])
def test_a_user_is_renamed_and_stays_signed_in(
    bosses: Client, owner: User, owners: Client, name: str
) -> None:
    assert 'value="owner"' in bosses.get(f"{LIST}{owner.pk}/").content.decode()
    answer = bosses.post(f"{LIST}{owner.pk}/", {"username": name}, follow=True)
    assert answer.redirect_chain == [(f"{LIST}{owner.pk}/", 302)]
    page = answer.content.decode()
    assert f"Renamed to “{name}”." in page
    assert f'value="{name}"' in page
    assert f"Signed in as {name}" in owners.get("/").content.decode()
    assert not SignInLink.objects.exists()


def test_administrators_rename_themselves(bosses: Client, boss: User) -> None:
    page = bosses.post(f"{LIST}{boss.pk}/", {"username": "chief"}, follow=True).content.decode()
    assert "Renamed to “chief”." in page
    assert "Signed in as chief" in page


@REFUSED_NAMES
def test_a_new_name_that_is_refused_stays_in_the_form(
    bosses: Client, owner: User, name: str, sentence: str
) -> None:
    answer = bosses.post(f"{LIST}{owner.pk}/", {"username": name})
    assert answer.status_code == 400
    page = answer.content.decode()
    assert sentence in page.partition("field__error")[2]
    assert not name or f'value="{name}"' in page
    assert '<h1 class="settings__title">owner</h1>' in page
    owner.refresh_from_db()
    assert owner.username == "owner"


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
    for act in ("access", "delete"):
        assert bosses.get(f"{LIST}{owner.pk}/{act}/").status_code == 405
    owner.refresh_from_db()
    assert owner.is_active


def delete(browser: Client, account: User) -> Any:
    return browser.post(f"{LIST}{account.pk}/delete/", follow=True)


def own_everything(owner: User, workspaces: Path) -> list[Path]:
    """Rows of the user's; returns the folders with the files of a current and of a deleted conversation."""
    connection = Connection.objects.create(owner=owner, name="Own", base_url="http://127.0.0.1:9/v1")
    profile = Profile.objects.create(owner=owner, title="Own", connection=connection)
    DailyUsage.objects.create(owner=owner, day="2026-01-01")
    current, deleted = (Conversation.begin(owner, "Look", uuid.uuid4(), profile) for _each in range(2))
    BulkAct.carry_out(owner, "delete", [deleted.pk])
    kinds = ("workspaces", "checkpoints", "pictures")
    places = [workspaces.with_name(kind) / str(each.pk) for kind in kinds for each in (current, deleted)]
    for place in places:
        place.mkdir(parents=True)
        (place / "notes.txt").write_text("text")
    return places


def test_deletion_takes_everything_of_the_user(
    bosses: Client, owner: User, owners: Client, conversation: Conversation, stranger: User, workspaces: Path
) -> None:
    places = own_everything(owner, workspaces)
    kept = Conversation.begin(stranger, "Look", uuid.uuid4(), None)
    page = bosses.get(f"{LIST}{owner.pk}/").content.decode()
    assert "Delete owner?" in page
    assert "/admin/auth/" not in page
    answer = delete(bosses, owner)
    assert answer.redirect_chain == [(LIST, 302)]
    assert "“owner” deleted." in answer.content.decode()
    assert not is_in(owners)
    assert set(User.objects.values_list("username", flat=True)) == {"boss", "stranger"}
    assert list(Conversation.with_deleted.all()) == [kept]
    for model in (Connection, DailyUsage, Profile):
        assert not model._base_manager.filter(owner__isnull=False).exists()
    assert not [place for place in places if place.exists()]
    assert delete(bosses, owner).status_code == 404


def test_who_is_deactivated_can_be_deleted(bosses: Client, owner: User) -> None:
    change(bosses, owner, "deactivate")
    assert f'action="{LIST}{owner.pk}/delete/"' in bosses.get(f"{LIST}{owner.pk}/").content.decode()
    delete(bosses, owner)
    assert not User.objects.filter(pk=owner.pk).exists()


def test_nobody_deletes_themselves(bosses: Client, boss: User) -> None:
    conversation = Conversation.begin(boss, "Look", uuid.uuid4(), None)
    assert "/delete/" not in bosses.get(f"{LIST}{boss.pk}/").content.decode()
    assert "You cannot change your own access." in delete(bosses, boss).content.decode()
    boss.refresh_from_db()
    assert boss.is_active
    assert list(Conversation.objects.all()) == [conversation]
