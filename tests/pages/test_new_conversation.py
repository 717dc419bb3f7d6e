"""The first page: the composer, and the form that begins a conversation."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chat.models import Conversation, Profile, Turn


@pytest.fixture
def profiles(db: Any) -> list[Profile]:
    """The only ones there are: two for everybody."""
    Profile.objects.all().delete()
    return [Profile.objects.create(title=title, position=n) for n, title in enumerate(["First", "Second"])]


def post(browser: Client, text: str = "Look around", **fields: object) -> Any:
    return browser.post("/", {"text": text, "client_id": str(uuid.uuid4()), **fields})


def test_the_form_begins_a_conversation_and_leads_there(owners: Client, profiles: list[Profile]) -> None:
    response = post(owners, "Look around", profile=profiles[1].pk)
    conversation = Conversation.objects.get()
    assert (response.status_code, response.url) == (302, f"/conversations/{conversation.pk}/")
    assert (conversation.profile, conversation.title) == (profiles[1], "Look around")
    assert conversation.turns.get().status == "queued"


def test_what_the_page_sends_is_taken(owner: User, collected: None) -> None:
    """The form as a browser without JavaScript sends it, token and all."""
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(owner)
    page = browser.get("/").content.decode()
    form = page[page.index('<form id="composer"') :]
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]+)"', form))
    assert set(fields) == {"csrfmiddlewaretoken", "client_id", "profile"}
    assert browser.post("/", {**fields, "text": "Hello"}).status_code == 302
    assert Turn.objects.get().client_id == uuid.UUID(fields["client_id"])


def test_each_page_brings_a_client_id_of_its_own(owners: Client) -> None:
    found = [re.findall(r'name="client_id" value="(.+?)"', owners.get("/").content.decode()) for _ in "ab"]
    assert found[0] != found[1]


def test_sending_the_form_twice_is_one_conversation(owners: Client) -> None:
    client_id = str(uuid.uuid4())
    first, second = (post(owners, client_id=client_id) for _ in range(2))
    assert first.url == second.url
    assert Turn.objects.count() == 1


def test_a_script_may_leave_the_client_id_out(owners: Client) -> None:
    assert owners.post("/", {"text": "Hello"}).status_code == 302
    assert owners.post("/", {"text": "Hello"}).status_code == 302
    assert Conversation.objects.count() == 2


@pytest.mark.parametrize("client_id", ["no uuid", "1", "x" * 10_000, "\x00"])
def test_a_damaged_form_is_refused_and_keeps_the_text(owners: Client, client_id: str) -> None:
    response = post(owners, "My text", client_id=client_id)
    assert response.status_code == 400
    page = response.content.decode()
    assert "This form is damaged. Reload the page and send it again." in page
    assert ">My text</textarea>" in page
    assert not Conversation.objects.exists()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "The message is empty."),
        (" \n ", "The message is empty."),
        ("界" * 22_000, "The message is longer than 64 KiB."),
    ],
)
def test_a_refused_message_stays_in_the_composer(owners: Client, text: str, sentence: str) -> None:
    response = post(owners, text)
    assert response.status_code == 400
    page = response.content.decode()
    assert f'role="alert">{sentence}' in page
    assert f">{text}</textarea>" in page
    assert not Conversation.objects.exists()


def test_a_client_id_of_another_person_leaks_nothing(
    owners: Client, strangers: Client, conversation: Conversation, turn: Turn
) -> None:
    response = post(strangers, client_id=str(turn.client_id))
    assert response.status_code == 400
    assert str(conversation.pk) not in response.content.decode()
    assert Conversation.objects.get() == conversation


def test_the_profiles_are_offered_in_their_order(
    owners: Client, owner: User, stranger: User, profiles: list[Profile]
) -> None:
    Profile.objects.create(title="Mine", owner=owner)
    Profile.objects.create(title="Theirs", owner=stranger)
    titles = re.findall(r'profile-menu__title">(\w+)<', owners.get("/").content.decode())
    assert titles == ["First", "Second", "Mine"]


def test_the_choice_outlives_a_refusal(owners: Client, profiles: list[Profile]) -> None:
    page = post(owners, "", profile=profiles[1].pk).content.decode()
    assert re.findall(r'profile-choice__title">(\w+)<', page) == ["Second"]
    assert re.findall(r'name="profile" value="(\d+)"', page) == [str(profiles[1].pk)]


def foreign(stranger: User) -> Iterator[object]:
    yield Profile.objects.create(title="Theirs", owner=stranger).pk
    yield from ["", "0", "-1", "no number", "9" * 18, "9" * 40, "²", "٣" * 30, "\x00", "1 OR 1=1"]


def test_a_profile_that_is_not_offered_is_the_first_one(
    owners: Client, stranger: User, profiles: list[Profile]
) -> None:
    for given in foreign(stranger):
        assert post(owners, profile=given).status_code == 302, given
        assert Conversation.objects.latest("created_at").profile == profiles[0], given


def test_a_site_without_profiles_still_works(owners: Client, profiles: list[Profile]) -> None:
    Profile.objects.all().delete()
    assert owners.get("/").status_code == 200
    assert post(owners).status_code == 302
    assert Conversation.objects.get().profile is None


def test_the_demo_says_so_and_offers_ideas(owners: Client, settings: Any) -> None:
    page = owners.get("/").content.decode()
    assert "Scripted replies, no AI." in page
    assert "Refactor these five files" in page
    settings.DEMO = False
    page = owners.get("/").content.decode()
    assert "no AI" not in page
    assert "Refactor" not in page
