"""Passwords: the suggestion to set one, and setting and changing it in Preferences."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chat.models import SignInLink

PASSWORD = "/settings/preferences/password/"
GOOD = "correct horse battery"


@pytest.fixture(autouse=True)
def fast(settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def save(browser: Client, new: str, **more: str) -> Any:
    return browser.post(PASSWORD, {"new_password1": new, "new_password2": new, **more})


def page(browser: Client, address: str) -> str:
    return browser.get(address).content.decode()


def test_who_comes_in_by_a_link_is_asked_for_a_password(client: Client, owner: User, collected: None) -> None:
    first = client.get(f"/sign-in/{SignInLink.issue(owner)}/", follow=True).content.decode()
    assert f'href="{PASSWORD}"' in first
    assert save(client, GOOD).url == "/settings/preferences/"
    assert "Password saved" in page(client, "/settings/preferences/")
    assert PASSWORD not in page(client, "/"), "and is not asked again"
    client.post("/accounts/logout/")
    form = {"username": "owner", "password": GOOD}
    assert client.post("/accounts/login/", form).url == "/"
    assert PASSWORD not in page(client, "/")


def test_a_password_can_wait(owners: Client) -> None:
    assert PASSWORD in page(owners, "/")
    assert owners.post("/accounts/no-password-yet/").url == "/"
    assert PASSWORD not in page(owners, "/")


def test_signing_out_without_a_password_is_warned_of(owners: Client) -> None:
    assert 'href="/accounts/sign-out/"' in page(owners, "/")
    assert "ask your administrator for one" in page(owners, "/accounts/sign-out/")
    User.objects.update(is_staff=True)
    warning = page(owners, "/accounts/sign-out/")
    assert "manage.py sign-in-link owner" in warning
    assert PASSWORD in warning
    assert 'action="/accounts/logout/"' in warning
    save(owners, GOOD)
    assert 'href="/accounts/sign-out/"' not in page(owners, "/")
    assert "sign-in-link" not in page(owners, "/accounts/sign-out/")


def test_changing_it_ends_every_session_but_this_one(owner: User, owners: Client) -> None:
    save(owners, GOOD)
    other, key = Client(), owners.session.session_key
    other.force_login(User.objects.get())
    assert save(owners, "another horse battery", old_password="wrong").status_code == 400
    assert other.get("/").status_code == 200
    assert save(owners, "another horse battery", old_password=GOOD).status_code == 302
    assert owners.get("/").status_code == 200
    assert owners.session.session_key != key, "a copied cookie opens nothing any more"
    assert other.get("/").status_code == 302
    stolen = Client()
    stolen.cookies["sessionid"] = key or ""
    assert stolen.get("/").status_code == 302


def test_a_short_password_is_refused_in_the_users_language(owners: Client) -> None:
    owners.defaults["HTTP_ACCEPT_LANGUAGE"] = "zh-hans"
    assert "密码太短，至少需要 8 个字符。" in save(owners, "12345").content.decode()


@pytest.mark.parametrize("weak", ["short1!", "password123", "8462746283", "owner-owner"])
def test_weak_passwords_are_refused(owner: User, owners: Client, weak: str) -> None:
    User.objects.update(username="owner-owner")
    refused = save(owners, weak)
    assert refused.status_code == 400
    first, second = refused.content.decode().split('name="new_password2"')
    assert 'class="field__error"' in first
    assert 'class="field__error"' not in second
    owner.refresh_from_db()
    assert not owner.has_usable_password()


def test_the_administrations_own_pages_lead_to_these(admin_client: Client, collected: None) -> None:
    for method in ("get", "post"):
        assert getattr(admin_client, method)("/admin/logout/").url == "/accounts/sign-out/"
        assert getattr(admin_client, method)("/admin/password_change/").url == PASSWORD
    assert admin_client.get("/").status_code == 200
