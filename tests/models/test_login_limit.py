"""Passwords cannot be guessed without limit, by name and address."""

from __future__ import annotations

import datetime
import logging
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chat.models import SignInLink
from tests.models.racing import race

GOOD = "correct horse battery"
LOGIN, ADMIN = "/accounts/login/", "/admin/login/"


@pytest.fixture(autouse=True)
def users(owner: User, stranger: User, settings: Any, collected: None) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    for user in (owner, stranger):
        user.is_staff = True
        user.set_password(GOOD)
        user.save()


def sign_in(name: str, given: str, where: str = LOGIN, **more: Any) -> Any:
    return Client(**more).post(where, {"username": name, "password": given})


def guess(name: str, times: int, where: str = LOGIN, **more: Any) -> list[int]:
    return [sign_in(name, f"wrong {n}", where, **more).status_code for n in range(times)]


def test_five_wrong_passwords_lock_a_name_at_an_address(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert guess("owner", 7) == [303, 303, 303, 303, 429, 429, 429]
    assert caplog.messages.count("wrong password for 'owner' from 127.0.0.1") == 5
    assert "no password is taken for 'owner' from 127.0.0.1 in the next 0:15:00" in caplog.messages
    refused = sign_in("owner", GOOD)
    assert refused.status_code == 429
    assert 890 < int(refused["Retry-After"]) <= 900
    assert "You can sign in with a password again in 15 minutes." in refused.content.decode()
    assert "sessionid" not in refused.cookies
    assert sign_in("owner", GOOD, REMOTE_ADDR="198.51.100.7").status_code == 302, "others at other places"
    assert sign_in("stranger", GOOD).status_code == 302


def test_the_wait_ends_and_is_not_made_longer_by_trying() -> None:
    guess("owner", 6)
    AccessAttempt.objects.update(attempt_time=timezone.now() - datetime.timedelta(minutes=13, seconds=30))
    page = sign_in("owner", GOOD)
    assert page.status_code == 429
    assert 80 < int(page["Retry-After"]) <= 90
    assert "again in 2 minutes" in page.content.decode()
    AccessAttempt.objects.update(attempt_time=timezone.now() - datetime.timedelta(minutes=15, seconds=1))
    assert sign_in("owner", GOOD).status_code == 302


def test_twenty_wrong_passwords_lock_an_address_for_every_name() -> None:
    for n in range(5):
        sign_in("stranger", GOOD)  # with an account of one's own nothing is cleared but one's own name
        assert set(guess(f"name{n}", 4)) <= {303, 429}
    assert sign_in("owner", GOOD).status_code == 429
    assert sign_in("owner", GOOD, REMOTE_ADDR="198.51.100.7").status_code == 302


def test_signing_in_forgets_ones_own_failures() -> None:
    for _round in range(3):
        assert guess("owner", 4) == [303] * 4
        assert sign_in("owner", GOOD).status_code == 302


def test_the_administrations_login_counts_too() -> None:
    assert guess("owner", 3, ADMIN) + guess("owner", 2) == [200, 200, 200, 303, 429]
    assert sign_in("owner", GOOD, ADMIN).status_code == 429


def test_the_old_password_cannot_be_guessed_either(owner: User) -> None:
    """Who has somebody's session does not learn the password by trying it; nor is what was tried kept."""
    browser = Client()
    browser.force_login(owner)
    new = {"new_password1": "another horse battery", "new_password2": "another horse battery"}
    where = "/settings/preferences/password/"
    answers = [browser.post(where, {"old_password": f"secret {n}", **new}).status_code for n in range(5)]
    assert answers == [400, 400, 400, 400, 429]
    assert browser.post(where, {"old_password": GOOD, **new}).status_code == 429
    kept = str(list(AccessAttempt.objects.values()))
    assert "secret" not in kept
    assert "another horse" not in kept
    assert browser.get("/").status_code == 200, "the session goes on"


def test_who_is_locked_out_gets_in_by_a_link(owner: User) -> None:
    guess("owner", 6)
    browser = Client()
    assert browser.get(f"/sign-in/{SignInLink.issue(owner)}/").status_code == 302
    assert browser.get("/").status_code == 200


@pytest.mark.parametrize(
    ("trusted", "given", "locked"),
    [
        (False, "198.51.100.{n}", True),  # nobody vouches for what the client says
        (True, "198.51.100.{n}", False),
        (True, "198.51.100.{n}, 203.0.113.9", True),  # the proxy puts what it saw behind that
        (True, "2001:db8:1:2::{n}", True),  # one customer's network
        (True, "2001:db8:1:{n}::1", False),
        (True, "::ffff:203.0.113.{n}", False),
        (True, "", True),
        (True, "unknown", True),
    ],
)
def test_which_address_counts(settings: Any, trusted: bool, given: str, locked: bool) -> None:
    settings.TRUST_PROXY = trusted
    answers = [
        sign_in("owner", "wrong", HTTP_X_FORWARDED_FOR=given.replace("{n}", str(n))) for n in range(1, 7)
    ]
    assert (answers[-1].status_code == 429) is locked


def test_the_page_in_chinese() -> None:
    guess("owner", 5)
    page = sign_in("owner", GOOD, HTTP_ACCEPT_LANGUAGE="zh-CN").content.decode()
    assert "15 分钟后" in page


def test_a_line_of_the_log_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        sign_in(
            "owner\nAXES: all is well \x1b[2J", "wrong", HTTP_USER_AGENT="a\x00b\n" * 200, HTTP_ACCEPT="\x00"
        )
    assert [line for line in caplog.messages if line.startswith("wrong password for")]
    assert not any("\n" in line or "\x1b" in line for line in caplog.messages)


@pytest.mark.django_db(transaction=True)
def test_of_many_tried_at_once_no_more_are_looked_at(caplog: pytest.LogCaptureFixture) -> None:
    answers = race(12, lambda _n: sign_in("owner", "wrong").status_code)
    assert set(answers) <= {303, 429}
    assert 1 <= caplog.messages.count("wrong password for 'owner' from 127.0.0.1") <= 5
    assert sign_in("owner", GOOD).status_code == 429


def test_an_ordinary_request_asks_nothing_of_it(owner: User) -> None:
    browser = Client()
    browser.force_login(owner)
    for where in ("/", "/conversations/", LOGIN):
        with CaptureQueriesContext(connection) as queries:
            browser.get(where)
        assert not [query for query in queries.captured_queries if "axes" in query["sql"]]
