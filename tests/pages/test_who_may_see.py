"""Each view is declared for an audience; here every route is tried by everybody else, with every method."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from chat.models import (
    BulkAct,
    Connection,
    Conversation,
    FollowUp,
    Message,
    Profile,
    ShareLink,
    Tag,
    ToolCall,
    Turn,
)
from tests.pages.routes import address, audience_of, names_for, routes

LOGINS = ("/accounts/login/", "/admin/login/")
METHODS = ["get", "head", "post", "put", "patch", "delete", "options"]
READS = {"GET", "HEAD"}
DATA = {"text": "Mine now", "title": "Mine now", "client_id": str(uuid.uuid4())}
# These are about a file, a picture, an act or a model, of which there is none here.
MISSING = {
    "file",
    "file_image",
    "file_pdf",
    "file_download",
    "files_zip",
    "file_web_page",
    "picture",
    "taken_back",
    "model_settings",
}


def ask(browser: Client, method: str, where: str) -> Any:
    data = DATA if method == "post" else {}
    return getattr(browser, method)(where, data)


def state() -> Any:
    """All that an action could change."""
    models = (Conversation, Turn, FollowUp, Connection, Profile, Tag, BulkAct, ShareLink)
    rows = [list(model._base_manager.order_by("pk").values()) for model in models]  # type: ignore[attr-defined]
    return rows, Message.objects.count()


@pytest.fixture
def owned(owner: User, conversation: Conversation, failed: Turn, held: FollowUp) -> dict[str, Any]:
    """The parts of addresses that name rows of the owner's."""
    step = failed.steps.create(number=1)
    call = ToolCall.objects.create(turn=failed, step=step, index=0, call_id="a", name="bash", status="failed")
    tag = Tag.of(owner.pk, "Own")
    conversation.tags.add(tag)
    act = BulkAct.carry_out(owner, "archive", [conversation.pk])
    link = ShareLink.make(conversation, timezone.now() + datetime.timedelta(days=1))
    connection = Connection.objects.create(owner=owner, name="Own", base_url="http://127.0.0.1:9/v1")
    profile = Profile.objects.create(owner=owner, title="Own", connection=connection)
    rows = {
        "conversation_id": conversation,
        "turn_id": failed,
        "follow_up_id": held,
        "tool_call_id": call,
        "message_id": failed.messages.get(),
        "connection_id": connection,
        "profile_id": profile,
        "tag_id": tag,
        "bulk_act_id": act,
        "link_id": link,
    }
    return {part: row.pk for part, row in rows.items()}


def methods_of(owners: Client, where: str) -> set[str]:
    """The methods that the view answers."""
    refused = owners.patch(where)
    assert refused.status_code in (302, 405), where  # /settings/ redirects whatever is asked
    return set(refused.headers.get("Allow", "GET, HEAD").split(", "))


def test_every_view_declares_its_audience() -> None:
    undeclared = [
        name
        for name in routes()
        if audience_of(name) not in ("anyone", "signed_in", "owner", "staff", "superuser")
    ]
    assert not undeclared, "decorate the view with @audience(...)"
    rows = {"conversation_id", "connection_id"}
    assert {name for name, (_n, parts, _v) in routes().items() if rows & set(parts)} <= set(
        names_for("owner")
    )
    assert {"admin:index", "admin:auth_user_changelist", "admin:chat_profile_add"} <= set(names_for("staff"))
    assert not [name for name in routes() if address(name).startswith("/admin/") and ":" not in name]


@pytest.mark.django_db
def test_nobody_gets_further_than_the_login(client: Client) -> None:
    for name in names_for("signed_in", "owner", "staff", "superuser"):
        where = address(name)
        for method in METHODS:
            response = ask(client, method, where)
            assert response.status_code == 302, (name, method)
            assert response.url.split("?")[0] in LOGINS, (name, method)
    assert not Conversation.objects.exists()


@pytest.mark.usefixtures("collected", "db")
def test_what_is_for_anyone_asks_for_no_login(client: Client) -> None:
    # metrics wants a token, readyz says that no worker answers, the spent link that it is spent
    answers = {name: client.get(address(name)).status_code for name in names_for("anyone")}
    assert {name for name, status in answers.items() if status not in (200, 404, 410, 503)} <= {"metrics"}
    assert answers["metrics"] == 403


def test_what_is_an_owners_does_not_exist_for_others(
    owners: Client, stranger: User, browser_of: Callable[[User], Client], owned: dict[str, Any]
) -> None:
    """Neither for a stranger nor for staff, and the answer is that of an address of nothing."""
    staff = User.objects.create_user("staff", is_staff=True)
    nothing = {part: uuid.uuid4() if isinstance(key, uuid.UUID) else 10**6 for part, key in owned.items()}
    before = state()
    for name in names_for("owner"):
        theirs, none = address(name, **owned), address(name, **nothing)
        allowed = methods_of(owners, theirs)
        for browser in (browser_of(stranger), browser_of(staff)):
            for method in METHODS:
                answer, empty = ask(browser, method, theirs), ask(browser, method, none)
                assert answer.status_code == (404 if method.upper() in allowed else 405), (name, method)
                assert (answer.status_code, answer.content) == (empty.status_code, empty.content), name
        assert state() == before, name


def test_what_is_for_staff_does_not_exist_for_others(owners: Client, owner: User) -> None:
    ours = [name for name in names_for("staff") if not name.startswith("admin:")]
    for method in METHODS:
        assert {ask(owners, method, address(name)).status_code for name in ours} == {404}, method
    for name in set(names_for("staff")) - set(ours):
        for method in ("get", "post"):
            response = ask(owners, method, address(name))
            assert response.status_code == 302, name
            assert response.url.startswith("/admin/login/") or name == "admin:logout"
    User.objects.filter(pk=owner.pk).update(is_staff=True)
    if not owners.session.get("_auth_user_id"):  # the admin's logout ends it
        owners.force_login(owner)
    assert {owners.patch(address(name)).status_code for name in ours} == {405}


def test_what_is_for_superusers_does_not_exist_for_others(owners: Client, owner: User) -> None:
    User.objects.filter(pk=owner.pk).update(is_staff=True)
    names = names_for("superuser")
    for method in METHODS:
        assert {ask(owners, method, address(name)).status_code for name in names} == {404}, method
    User.objects.filter(pk=owner.pk).update(is_superuser=True)
    assert {owners.patch(address(name)).status_code for name in names} == {405}


def test_owners_find_what_is_theirs(owners: Client, owned: dict[str, Any]) -> None:
    found = {}
    for name in names_for("signed_in", "owner"):
        where = address(name, **owned)
        if methods_of(owners, where) & READS:
            found[name] = owners.get(where).status_code
    missing = {name for name, status in found.items() if status not in (200, 204, 302)}  # 204: no list came
    assert missing <= MISSING
    assert len(found) > 40


def test_what_changes_something_is_a_post(owners: Client, owned: dict[str, Any]) -> None:
    before = state()
    for name in names_for("signed_in", "owner"):
        where = address(name, **owned)
        if not methods_of(owners, where) & READS:
            for method in ("get", "head", "put", "delete"):
                assert ask(owners, method, where).status_code == 405, (name, method)
    assert state() == before
    assert owners.get("/").status_code == 200, "and the owner is still signed in"


def test_who_was_deactivated_is_out_at_once(owners: Client, owned: dict[str, Any]) -> None:
    User.objects.update(is_active=False, is_staff=True, is_superuser=True)
    before = state()
    for name in names_for("signed_in", "owner", "staff", "superuser"):
        for method in ("get", "post"):
            response = ask(owners, method, address(name, **owned))
            assert response.status_code == 302, (name, method)
            assert response.url.split("?")[0] in LOGINS, (name, method)
    assert state() == before


def test_no_post_goes_without_its_token(owner: User, owned: dict[str, Any], collected: None) -> None:
    User.objects.update(is_staff=True)
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(owner)
    before = state()
    for name in {*names_for("signed_in", "owner", "staff", "superuser"), "login"}:
        where = address(name, **owned)
        for headers in ({}, {"Origin": "https://evil.example"}):
            assert browser.post(where, DATA, headers=headers).status_code in (403, 405), name
    assert state() == before
    assert browser.get("/").status_code == 200


def test_no_page_of_a_stranger_names_the_conversation(strangers: Client, conversation: Conversation) -> None:
    for name in ("new_conversation", "conversations", "board"):
        page = strangers.get(address(name)).content.decode()
        assert "Look around" not in page
        assert str(conversation.pk) not in page


def test_a_turn_of_another_conversation_is_not_retried(
    strangers: Client, stranger: User, failed: Turn
) -> None:
    own = Conversation.objects.create(owner=stranger, title="Mine")
    where = address("retry", conversation_id=own.pk, turn_id=failed.pk)
    assert strangers.post(where).status_code == 404
    assert Turn.objects.count() == 1


def test_a_follow_up_of_another_conversation_is_not_taken_back(
    strangers: Client, stranger: User, held: FollowUp
) -> None:
    own = Conversation.objects.create(owner=stranger, title="Mine")
    where = address("take_back_follow_up", conversation_id=own.pk, follow_up_id=held.pk)
    assert strangers.post(where).status_code == 404
    assert FollowUp.objects.get().status == "held"


@pytest.mark.parametrize("turn_id", [0, 2**31, 2**63, 10**30])
def test_a_turn_that_does_not_exist_is_not_found(
    owners: Client, conversation: Conversation, turn_id: int
) -> None:
    where = address("retry", conversation_id=conversation.pk, turn_id=turn_id)
    assert owners.post(where).status_code == 404
