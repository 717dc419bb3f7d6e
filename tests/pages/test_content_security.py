"""Security headers of every response, and pages that work under the policy."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.templatetags.static import static
from django.test import Client
from django.utils import timezone

from agentsite.middleware import POLICY
from chat.models import Conversation, Profile, ShareLink, Turn
from tests.bodies import body

INLINE = re.compile(
    rb"<script(?![^>]*\bsrc=)(?![^>]*\btype=\"application/json\")|<style|<[^>]+\s(style|on\w+)="
)
ADMIN = ["/admin/", "/admin/login/", "/admin/auth/", "/admin/auth/user/", "/admin/auth/user/add/"]
ADMIN += ["/admin/chat/profile/", "/admin/chat/profile/add/", "/admin/password_change/", "/admin/nothing/"]
SETTINGS = [f"/settings/{page}/" for page in ("connections", "profiles", "usage", "preferences")]
SETTINGS += ["/settings/connections/add/", "/settings/connections/environment/test/"]
SETTINGS += ["/settings/connections/environment/model/?name=m", "/settings/profiles/add/"]
ELSEWHERE = re.compile(rb"<(?:script|link|img|iframe|form)[^>]*\b(?:src|href|action)=\"(?:[a-z]+:)?//")


@pytest.fixture
def administrators(browser_of: Callable[[User], Client], db: Any) -> Client:
    return browser_of(User.objects.create_superuser("admin"))


def check(response: Any) -> None:
    assert response["Content-Security-Policy"] == POLICY
    assert response["X-Frame-Options"] == "DENY"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Referrer-Policy"] == "same-origin"
    assert response["Cross-Origin-Opener-Policy"] == "same-origin"
    assert response["Cross-Origin-Resource-Policy"] == "same-origin"
    assert not INLINE.search(response.content), INLINE.search(response.content)
    assert not ELSEWHERE.search(response.content), ELSEWHERE.search(response.content)


@pytest.mark.parametrize("where", SETTINGS)
def test_the_settings_need_no_more(administrators: Client, where: str) -> None:
    response = administrators.get(where)
    assert response.status_code == 200
    check(response)


def test_the_policy_allows_nothing_inline_and_nothing_from_elsewhere() -> None:
    assert "unsafe" not in POLICY
    assert "//" not in POLICY
    assert "*" not in POLICY
    allowed = dict(rule.split(" ", 1) for rule in POLICY.split("; "))
    assert allowed["default-src"] == allowed["base-uri"] == allowed["frame-ancestors"] == "'none'"
    assert allowed["script-src"] == allowed["style-src"] == allowed["connect-src"] == "'self'"


@pytest.mark.parametrize("where", ["/", "/accounts/login/", "/healthz", "/sign-in/nothing/", "/nothing"])
@pytest.mark.usefixtures("collected", "db")
def test_every_response_brings_it_to_nobody(client: Client, where: str) -> None:
    check(client.get(where))


@pytest.mark.parametrize("where", ["/", "/conversations/", "/conversations", "/nothing", "/accounts/logout/"])
def test_every_response_brings_it_to_the_owner(owners: Client, where: str) -> None:
    check(owners.get(where))


def test_a_conversation_brings_it(owners: Client, conversation: Conversation) -> None:
    check(owners.get(f"/conversations/{conversation.pk}/"))
    check(owners.get(f"/conversations/{conversation.owner_id}/"))


@pytest.mark.usefixtures("collected")
def test_pages_that_are_only_read_bring_a_stricter_one(owners: Client, conversation: Conversation) -> None:
    Turn.objects.update(status="completed", ended_at=timezone.now())
    link = ShareLink.make(conversation, timezone.now() + datetime.timedelta(days=1))
    shared = f"/shared/{link.token}/"
    for where in (shared, f"{shared}replay/", f"/conversations/{conversation.pk}/replay/"):
        response: Any = owners.get(where)
        rules = dict(rule.split(" ", 1) for rule in response["Content-Security-Policy"].split("; "))
        assert rules["connect-src"] == rules["form-action"] == rules["default-src"] == "'none'"
        assert rules["base-uri"] == rules["frame-ancestors"] == "'none'"
        assert rules["script-src"] == "'self'"
        page = body(response).decode()
        assert re.findall(r'<script src="([^"]*)"', page) == [static("read-only.js")]
        assert page.count("<script") == 1
        assert not re.search(r"<(form|iframe|object|embed)\b", page)


@pytest.mark.parametrize("where", ADMIN)
def test_the_admin_works_with_it(administrators: Client, where: str) -> None:
    check(administrators.get(where))


def test_a_refused_post_brings_it(owner: User, collected: None) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(owner)
    response = browser.post("/", {"text": "Hello"})
    assert response.status_code == 403
    assert response["Content-Security-Policy"] == POLICY


def test_another_host_is_refused_with_it(owners: Client) -> None:
    response = owners.get("/", headers={"Host": "evil.example"})
    assert response.status_code == 400
    assert response["Content-Security-Policy"] == POLICY


def test_an_administrator_sets_up_a_profile(administrators: Client) -> None:
    form = {
        "title": "Mine",
        "todo_policy": "lean",
        "colour": "blue",
        "max_todos": 5,
        "language": "zh",
        "position": 1,
    }
    assert administrators.post("/admin/chat/profile/add/", form).status_code == 302
    profile = Profile.objects.get(title="Mine")
    assert (profile.todo_policy, profile.max_todos, profile.language) == ("lean", 5, "zh")
    changed = {**form, "title": "Yours", "todo_policy": "made-up"}
    response = administrators.post(f"/admin/chat/profile/{profile.pk}/change/", changed)
    assert "made-up is not one of the available choices" in response.content.decode()
    assert not Profile.objects.filter(title="Yours").exists()
