"""The ways in and out: the printed link, the password, the button."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from chat.models import Conversation, Profile, SignInLink


@pytest.fixture
def link(owner: User, collected: None) -> str:
    return f"/sign-in/{SignInLink.issue(owner)}/"


@pytest.fixture
def password(owner: User, settings: Any, collected: None) -> str:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    owner.set_password("open sesame")
    owner.save()
    return "open sesame"


def is_in(browser: Client) -> bool:
    return browser.get("/").status_code == 200


def test_the_page_names_the_command_of_the_readme(client: Client, collected: None) -> None:
    command = ".venv/bin/python manage.py sign-in-link"
    assert command in client.get("/accounts/login/").content.decode()
    assert command in (settings.BASE_DIR / "README.md").read_text()


def test_the_link_leads_to_the_composer(client: Client, link: str) -> None:
    response = client.get(link)
    assert (response.status_code, response.url) == (302, "/")
    assert "no-store" in response["Cache-Control"]
    assert is_in(client)
    cookie = client.cookies["sessionid"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"


@pytest.mark.parametrize(
    ("browser", "used", "titles"),
    [
        ("zh-CN", False, ["专注", "Slim", "清单", "先问再做"]),
        ("zh-CN", True, ["Focused", "Slim", "Checklist", "Asks first"]),
        ("en", False, ["Focused", "Slim", "Checklist", "Asks first"]),
    ],
)
def test_the_profiles_of_a_new_site_speak_its_first_users_language(
    client: Client, owner: User, link: str, browser: str, used: bool, titles: list[str]
) -> None:
    Profile.objects.filter(title="Lean").update(title="Slim")
    if used:
        Conversation.begin(owner, "hello", uuid.uuid4(), None)
    client.get(link, headers={"Accept-Language": browser})
    assert list(Profile.objects.order_by("position").values_list("title", flat=True)) == titles
    languages = {row.title: row.language for row in Profile.objects.all()}
    assert (languages["Slim"], languages[titles[0]]) == ("en", "zh" if titles[0] == "专注" else "en")


def test_the_link_works_once(client: Client, link: str) -> None:
    client.get(link)
    other = Client()
    response = other.get(link)
    assert response.status_code == 410
    assert "This link has expired or was already used" in response.content.decode()
    assert not is_in(other)


def test_whoever_is_in_may_open_the_link_again(client: Client, link: str) -> None:
    client.get(link)
    assert client.get(link).status_code == 302


@pytest.mark.parametrize("method", ["head", "post", "options"])
def test_a_look_ahead_does_not_spend_the_link(client: Client, link: str, method: str) -> None:
    """Messengers and mail scanners fetch a link before the user opens it."""
    assert getattr(client, method)(link).status_code == 405
    client.get(link)
    assert is_in(client)


@pytest.mark.parametrize("header", [{"Sec-Purpose": "prefetch;prerender"}, {"Purpose": "prefetch"}])
def test_a_browser_that_fetches_ahead_does_not_spend_the_link(
    client: Client, link: str, header: dict[str, str]
) -> None:
    assert client.get(link, headers=header).status_code == 503
    assert not is_in(client)
    client.get(link)
    assert is_in(client)


def test_a_link_that_asks_is_spent_by_its_button(client: Client, link: str) -> None:
    """Some messengers and mail scanners fetch with GET."""
    for _ in range(2):
        page = client.get(link, {"ask": "1"}).content.decode()
        assert "Sign in as owner?" in page
        assert "You are signed in" not in page
        assert not is_in(client)
    assert client.get(link, {"confirmed": "1"}).status_code == 302
    assert is_in(client)
    assert client.get(link, {"ask": "1"}).status_code == 302, "who is in has nothing to answer"
    assert Client().get(link, {"ask": "1"}).status_code == 410


def test_the_link_of_who_was_deactivated_is_spent(client: Client, link: str) -> None:
    User.objects.update(is_active=False)
    assert client.get(link).status_code == 410
    assert not is_in(client)


def test_signing_in_begins_a_session_of_its_own(client: Client, link: str, stranger: User) -> None:
    client.force_login(stranger)
    before = client.cookies["sessionid"].value
    client.get(f"{link}?confirmed=1")
    assert client.cookies["sessionid"].value != before


def test_who_is_somebody_else_is_asked_first(client: Client, link: str, stranger: User) -> None:
    client.force_login(stranger)
    page = client.get(link).content.decode()
    assert "Sign in as owner?" in page
    assert f"You are signed in as {stranger.username}." in page
    assert "you will need a new sign-in link" in page
    assert client.get("/").context["user"] == stranger
    assert client.get(link, {"confirmed": "1"}).status_code == 302, "the link is not spent by the question"
    assert client.get("/").context["user"].username == "owner"


def test_a_password_signs_in_and_leads_on(client: Client, password: str) -> None:
    page = client.get("/accounts/login/?next=/conversations/")
    assert 'name="next" value="/conversations/"' in page.content.decode()
    assert "Sign in to see the page you asked for." in page.content.decode()
    assert "you asked for" not in client.get("/accounts/login/?next=/").content.decode()
    form = {"username": "owner", "password": password, "next": "/conversations/"}
    response = client.post("/accounts/login/", form)
    assert (response.status_code, response.url) == (302, "/conversations/")
    assert is_in(client)


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_no_login_leads_elsewhere(client: Client, password: str, elsewhere: str) -> None:
    form = {"username": "owner", "password": password, "next": elsewhere}
    assert client.post("/accounts/login/", form).url == "/"


@pytest.mark.parametrize("active", [True, False])
def test_what_is_wrong_signs_nobody_in(client: Client, password: str, active: bool) -> None:
    User.objects.update(is_active=active)
    given = "wrong" if active else password
    where = "/accounts/login/?next=/board/"
    response = client.post(where, {"username": "owner", "password": given})
    assert (response.status_code, response.url) == (303, where), "Back leads to no page that had to be sent"
    page = client.get(where).content.decode()
    assert "Wrong user name or password." in page
    assert 'value="owner"' in page
    assert not is_in(client)
    assert "Wrong" not in client.get(where).content.decode()


@pytest.mark.parametrize("is_in_elsewhere", [True, False])
def test_a_form_to_sign_in_that_was_left_open(owner: User, password: str, is_in_elsewhere: bool) -> None:
    where = "/accounts/login/?next=/board/"
    client = Client(enforce_csrf_checks=True)
    client.get(where)
    form = {"username": "owner", "password": password, "csrfmiddlewaretoken": "a" * 64}
    if is_in_elsewhere:
        client.force_login(owner)
    assert client.post(where, form).status_code == 303
    answer = client.get(where)
    if is_in_elsewhere:
        assert answer.url == "/board/"
        return
    page = answer.content.decode()
    assert "This page expired. Sign in again." in page
    assert 'value="owner"' in page


def test_another_form_that_expired_says_so(client: Client, owner: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(owner)
    answer = client.post("/settings/preferences/", {})
    assert answer.status_code == 403
    assert "This page expired" in answer.content.decode()
    assert Client(enforce_csrf_checks=True).post("/accounts/login/", {}).status_code == 403, "without cookies"


def test_whoever_is_in_needs_no_login_page(owners: Client) -> None:
    assert owners.get("/accounts/login/").url == "/"


def test_signing_out(owners: Client) -> None:
    response = owners.post("/accounts/logout/")
    assert (response.status_code, response.url) == (302, "/accounts/login/")
    assert not is_in(owners)
