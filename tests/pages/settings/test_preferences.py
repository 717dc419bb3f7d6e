"""The language, time zone and theme in which a user reads pages: asked of the browser, or chosen."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chat.models import Conversation, Preferences, Reader, ShareLink, SignInLink, Turn
from tests.bodies import body
from tests.pages.settings.fields import fields_of

PREFERENCES = "/settings/preferences/"
ENGLISH, CHINESE = '<html lang="en"', '<html lang="zh-hans"'


def page(browser: Client, address: str = PREFERENCES, accepts: str = "") -> str:
    return browser.get(address, headers={"Accept-Language": accepts}).content.decode()


@pytest.mark.parametrize(
    ("accepts", "language"),
    [
        ("zh-CN,zh;q=0.9,en;q=0.8", CHINESE),
        ("zh-TW,zh;q=0.9", CHINESE),
        ("en-GB,en;q=0.9,zh;q=0.1", ENGLISH),
        ("fr-FR,fr;q=0.9,zh;q=0.5", CHINESE),
        ("fr", ENGLISH),
        ("", ENGLISH),
    ],
)
@pytest.mark.usefixtures("collected", "db")
def test_the_browser_chooses_the_language(client: Client, accepts: str, language: str) -> None:
    answer = client.get("/accounts/login/", headers={"Accept-Language": accepts})
    assert language in answer.content.decode()
    assert "Accept-Language" in answer["Vary"]


def test_the_profile_that_nobody_chose_has_its_name(owners: Client) -> None:
    assert "First on the list (Focused)" in page(owners)


def test_a_browser_that_accepts_neither_gets_the_sites_language(owners: Client, settings: Any) -> None:
    settings.LANGUAGE_CODE = "zh-hans"
    assert CHINESE in page(owners, accepts="fr")
    assert ENGLISH in page(owners, accepts="en")


def test_a_chosen_language_is_kept_with_the_account(
    owner: User, owners: Client, strangers: Client, browser_of: Callable[[User], Client]
) -> None:
    assert owners.post(PREFERENCES, {"language": "zh-hans", "theme": "dark"}).status_code == 302
    assert "偏好设置已保存" in page(owners, accepts="en"), "in the language that was just chosen"
    for browser in (owners, browser_of(owner)):
        shown = page(browser, accepts="en")
        assert CHINESE in shown
        assert 'data-theme="dark"' in shown
        assert "偏好" in shown
    assert ENGLISH in page(strangers, accepts="en")
    owners.post("/accounts/logout/")
    assert ENGLISH in page(owners, "/accounts/login/", accepts="en")
    assert owners.post(PREFERENCES, {"language": "de"}).status_code in (302, 400)
    assert Preferences.objects.get(user=owner).language == "zh-hans"


def test_a_shared_conversation_follows_its_visitor(
    owner: User, owners: Client, client: Client, conversation: Conversation, failed: Turn
) -> None:
    Preferences.objects.create(user=owner, language="zh-hans")
    link = ShareLink.make(conversation, timezone.now() + datetime.timedelta(days=1))
    for browser in (client, owners):
        for address in (f"/shared/{link.token}/", f"/shared/{link.token}/replay/"):
            answers = [
                body(browser.get(address, headers={"Accept-Language": accepts}))
                for accepts in ("en", "zh-CN")
            ]
            assert [ENGLISH.encode() in answers[0], CHINESE.encode() in answers[1]] == [True, True]


def test_the_browsers_language_and_zone_are_kept_for_workers(owner: User, owners: Client) -> None:
    assert 'data-browser-zone="UTC"' in page(owners, accepts="en")
    assert 'data-browser-zone=""' in page(owners, accepts="zh"), "to be sent, for the language differs"
    told = [
        owners.post(f"{PREFERENCES}browser/", {"time_zone": zone}, headers={"Accept-Language": "zh"})
        for zone in ("UTC", "Asia/Shanghai", "Asia/Shanghai")
    ]
    assert [each.status_code for each in told] == [204, 205, 204]
    owner = User.objects.get()
    assert Reader.of(owner) == Reader("zh-hans", "Asia/Shanghai")
    assert Reader.of(owner, "en") == Reader("en", "Asia/Shanghai")
    shown = page(owners, accepts="zh")
    assert 'data-browser-zone="Asia/Shanghai"' in shown
    assert "Asia/Shanghai" in shown.partition("<form")[0], "and used"


def test_a_chosen_time_zone_comes_before_the_browsers(owner: User, owners: Client) -> None:
    owners.post(f"{PREFERENCES}browser/", {"time_zone": "Asia/Shanghai"})
    owners.post(PREFERENCES, {"time_zone": "Europe/Paris", "language": ""})
    assert Reader.of(User.objects.get()) == Reader("en", "Europe/Paris")
    assert owners.post(f"{PREFERENCES}browser/", {"time_zone": "Europe/Oslo"}).status_code == 204
    owners.post(f"{PREFERENCES}browser/", {"time_zone": "Asia/Shanghai"})
    shown = page(owners)
    assert 'data-zone="Europe/Paris"' in shown
    assert 'data-browser-zone="Asia/Shanghai"' in shown
    assert owners.post(PREFERENCES, {"time_zone": "Nowhere/At all"}).status_code == 400


def test_zones_unknown_to_this_machine_do_no_harm(owner: User, owners: Client) -> None:
    assert owners.post(f"{PREFERENCES}browser/", {"time_zone": "../../etc/passwd"}).status_code == 204
    Preferences.objects.update(time_zone="Mars/Olympus")
    assert Reader.of(User.objects.get()) == Reader("en", "UTC")
    assert 'data-zone="UTC"' in page(owners)


def test_preferences_are_read_with_the_user(client: Client, owner: User, collected: None) -> None:
    """They cost no statement, except in sessions of Django's own backend, which began earlier."""
    client.get(f"/sign-in/{SignInLink.issue(owner)}/")
    Preferences.objects.create(user=owner, language="zh-hans")

    def reading() -> list[bool]:
        """Of the statements that read preferences, whether they read the user too."""
        with CaptureQueriesContext(connection) as queries:
            assert CHINESE in page(client, "/board/")
        statements = [each["sql"] for each in queries.captured_queries]
        return ['FROM "auth_user"' in each for each in statements if '"chat_preferences"' in each]

    assert reading() == [True]
    session = client.session
    session["_auth_user_backend"] = "django.contrib.auth.backends.ModelBackend"
    session.save()
    assert reading() == [False]


def test_a_form_left_open_undoes_nothing(owners: Client) -> None:
    old = fields_of(owners.get(PREFERENCES))
    assert owners.post(PREFERENCES, {"theme": "dark"}).status_code == 302
    answer = owners.post(PREFERENCES, {**old, "time_zone": "Asia/Shanghai"})
    assert "while the form was open: Theme, Let the model name conversations." in answer.content.decode()
    assert owners.post(PREFERENCES, fields_of(answer)).status_code == 302
    row = Preferences.objects.get()
    assert (row.theme, row.name_conversations, row.time_zone) == ("dark", False, "Asia/Shanghai")
