"""Every route for anonymous users, the owner, a stranger and a deactivated user."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chat.models import Conversation, FollowUp, Message, Turn
from tests.pages.routes import address, routes

# Whoever adds an address says here whose it is.
EVERYBODYS = {"login", "sign_in", "healthz", "readyz", "admin:login"}
SCRAPERS = {"metrics"}  # test_metrics.py asks for them
SETTINGS = {"settings", "connections", "add_connection", "profiles", "add_profile", "preferences"}
SETTINGS |= {"usage", "usage_file"}  # settings/test_usage.py asks whose usage it is
SETTINGS |= {"plan_figures", "plan_figures_file"}  # settings/test_plans.py asks whose they are
SETTINGS |= {"offered_models", "password"}
PROFILES = {"profile", "duplicate_profile", "prefer_profile", "delete_profile", "export_profile"}
PROFILES |= {"import_profile"}  # test_profiles.py asks for them
SIGNED_IN = {"new_conversation", "conversations", "tags", "import", "board", "before_sign_out"} | SETTINGS
SIGNED_IN |= {"models", "listed_models"}  # test_model_choice.py asks whose they are
READ_ONLY = {"conversations", "board", "tags", "before_sign_out"}
POSTED = {"logout", "see_all", "no_password_yet", "browser"}  # by whoever is signed in, about what is theirs
ORGANISING = {"bulk", "undo", "rename_tag", "delete_tag"}  # test_bulk.py asks for them
KEYED = PROFILES | ORGANISING | POSTED
SHOWN = {"conversation", "taken_back", "files", "file", "file_image", "file_download", "files_zip", "plan"}
SHOWN |= {"earlier_turns", "message_text", "picture", "call_in_plan", "call_output", "call_arguments"}
ACTIONS = {"send_message", "stop", "retry", "rename", "delete", "take_back_follow_up", "send_follow_ups"}
ACTIONS |= {
    "files_upload",
    "decide",
    "choose_profile",
    "choose_model",
    "continue",
    "dismiss",
    "edit_todos",
    "see",
    "organise",
}
ONES_OWN = SHOWN | ACTIONS
# settings/test_connections.py covers strangers and staff
CONNECTIONS = {"connection", "delete_connection", "try_connection", "use_model", "model_settings"}
STAFFS = {"model_settings_of_environment", "try_environment", "look_for_servers", "use_local_server"}
ADMINS = {name for name in routes() if name.startswith("admin:")} - EVERYBODYS
LEAVING = {"export_json", "export_markdown", "export_html", "replay", "shares"}
SHOWN |= LEAVING
ACTIONS |= {"share", "revoke_share"}
ONES_OWN |= LEAVING | ACTIONS
EVERYBODYS |= {"shared", "shared_replay", "shared_picture", "shared_file"}  # export/test_shares.py

LOGINS = ("/accounts/login/", "/admin/login/")
METHODS = ["get", "head", "post", "put", "patch", "delete", "options"]
DATA = {"text": "Mine now", "title": "Mine now", "client_id": str(uuid.uuid4())}


def ask(browser: Client, method: str, where: str) -> Any:
    data = DATA if method == "post" else {}
    return getattr(browser, method)(where, data)


def state(conversation: Conversation) -> Any:
    """All that an action could change."""
    rows = Conversation.objects.filter(pk=conversation.pk).values()
    return list(rows), list(Turn.objects.values()), Message.objects.count(), list(FollowUp.objects.values())


def test_every_address_is_somebodys() -> None:
    known = EVERYBODYS | SCRAPERS | SIGNED_IN | KEYED | CONNECTIONS | STAFFS | ONES_OWN | ADMINS
    assert set(routes()) == known, "say in this file who may see the new address"


def test_the_admins_addresses_are_the_admins() -> None:
    assert {"admin:index", "admin:auth_user_changelist", "admin:chat_profile_add"} <= ADMINS
    assert not [name for name in routes() if address(name).startswith("/admin/") and ":" not in name]


def test_addresses_with_a_connection_are_for_who_may_change_it() -> None:
    assert {name for name, (_n, parts) in routes().items() if "connection_id" in parts} == CONNECTIONS


def test_addresses_with_a_conversation_are_its_owners() -> None:
    assert {name for name, (_n, parts) in routes().items() if "conversation_id" in parts} == ONES_OWN


@pytest.mark.parametrize("name", sorted(SIGNED_IN | KEYED | CONNECTIONS | STAFFS | ONES_OWN | ADMINS))
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.django_db
def test_nobody_is_led_to_the_login(client: Client, name: str, method: str) -> None:
    where = address(name)
    response = ask(client, method, where)
    assert response.status_code == 302
    assert response.url.split("?")[0] in LOGINS
    assert not Conversation.objects.exists()


@pytest.mark.parametrize("name", sorted(EVERYBODYS))
@pytest.mark.usefixtures("collected", "db")
def test_what_is_everybodys_asks_for_no_login(client: Client, name: str) -> None:
    answer = client.get(address(name)).status_code
    assert answer in (200, 404, 410, 503), (
        "readyz says that no worker answers, the spent link that it is spent"
    )


@pytest.mark.parametrize("name", sorted(ONES_OWN))
@pytest.mark.parametrize("method", METHODS)
def test_a_strangers_conversation_does_not_exist(
    strangers: Client, conversation: Conversation, failed: Turn, held: FollowUp, name: str, method: str
) -> None:
    before = state(conversation)
    theirs = ask(
        strangers,
        method,
        address(name, conversation_id=conversation.pk, turn_id=failed.pk, follow_up_id=held.pk),
    )
    nothing = ask(
        strangers,
        method,
        address(name, conversation_id=uuid.uuid4(), turn_id=failed.pk, follow_up_id=held.pk),
    )
    answers = {"get", "head"} if name in SHOWN else {"post"}
    assert theirs.status_code == (404 if method in answers else 405)
    assert (theirs.status_code, theirs.content) == (nothing.status_code, nothing.content)
    assert state(conversation) == before


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


@pytest.mark.parametrize("name", sorted(SIGNED_IN | POSTED | ONES_OWN | CONNECTIONS | STAFFS | ADMINS))
def test_who_was_deactivated_is_out_at_once(
    owners: Client, owner: User, conversation: Conversation, failed: Turn, held: FollowUp, name: str
) -> None:
    User.objects.update(is_active=False, is_staff=True, is_superuser=True)
    before = state(conversation)
    for method in ("get", "post"):
        response = ask(
            owners,
            method,
            address(name, conversation_id=conversation.pk, turn_id=failed.pk, follow_up_id=held.pk),
        )
        assert response.status_code == 302
        assert response.url.split("?")[0] in LOGINS
    assert state(conversation) == before


@pytest.mark.parametrize("name", sorted(ADMINS))
def test_the_admin_is_for_staff(owners: Client, name: str) -> None:
    for method in ("get", "post"):
        response = ask(owners, method, address(name))
        assert response.status_code == 302
        assert response.url.startswith("/admin/login/") or name == "admin:logout"


@pytest.mark.parametrize("name", sorted(SIGNED_IN - {"settings"}))
def test_pages_are_the_owners(owners: Client, conversation: Conversation, name: str) -> None:
    assert owners.get(address(name)).status_code == 200


@pytest.mark.parametrize("name", sorted(ACTIONS | POSTED))
@pytest.mark.parametrize("method", ["get", "head", "put", "delete"])
def test_what_changes_something_is_a_post(
    owners: Client, conversation: Conversation, failed: Turn, held: FollowUp, name: str, method: str
) -> None:
    before = state(conversation)
    where = address(name, conversation_id=conversation.pk, turn_id=failed.pk, follow_up_id=held.pk)
    assert ask(owners, method, where).status_code == 405
    assert state(conversation) == before
    assert owners.get("/").status_code == 200, "and the owner is still signed in"


@pytest.mark.parametrize(
    "name",
    sorted(ACTIONS | CONNECTIONS | STAFFS | POSTED | SIGNED_IN - READ_ONLY | {"login"}),
)
def test_no_post_goes_without_its_token(
    owner: User, conversation: Conversation, failed: Turn, held: FollowUp, collected: None, name: str
) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(owner)
    before = state(conversation)
    where = address(name, conversation_id=conversation.pk, turn_id=failed.pk, follow_up_id=held.pk)
    assert browser.post(where, DATA).status_code == 403
    assert browser.post(where, DATA, headers={"Origin": "https://evil.example"}).status_code == 403
    assert state(conversation) == before
    assert Conversation.objects.count() == 1
    assert browser.get("/").status_code == 200
