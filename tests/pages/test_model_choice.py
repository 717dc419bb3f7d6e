"""The choice of a model: what is offered, for a new conversation, and for the next turn of another."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chat.connections import model_lists
from chat.models import Connection, Conversation, ModelSettings, Profile
from tests.model_server import ScriptedModel
from tests.pages.routes import address

HTMX = {"HX-Request": "true"}
OPTION = re.compile(r'role="option"[^>]* value="([^"]*)"')
GROUP = re.compile(r'role="group" aria-label="([^"]*)"')


@pytest.fixture
def mine(owner: User, model_server: ScriptedModel) -> Connection:
    """The owner's connection, whose endpoint lists its models."""
    User.objects.filter(pk=owner.pk).update(is_staff=True)
    return Connection.objects.create(owner=owner, name="Mine", base_url=model_server.base_url, inside=True)


@pytest.fixture
def theirs(stranger: User) -> Connection:
    return Connection.objects.create(owner=stranger, name="Theirs", base_url="https://theirs.example/v1")


def choose(browser: Client, conversation: Conversation, model: object, **more: Any) -> Any:
    return browser.post(address("choose_model", conversation_id=conversation.pk), {"model": model}, **more)


def offered(browser: Client, **query: object) -> str:
    """The list that the page's script gets."""
    answer = browser.get("/models/", query, headers=HTMX)
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_models_known_of_all_connections_are_offered(
    owners: Client,
    owner: User,
    conversation: Conversation,
    mine: Connection,
    theirs: Connection,
    settings: Any,
) -> None:
    settings.MODEL_NAME, settings.DEMO = "usual", False
    model_lists._lists.clear()  # other tests have asked endpoints too
    Profile.objects.create(title="Careful", owner=owner, connection=mine, model="large")
    ModelSettings.objects.create(connection=theirs, model="secret")
    there = offered(owners, conversation=conversation.pk)
    assert GROUP.findall(there) == ["Environment", "Mine"]
    assert OPTION.findall(there) == ["", ":usual", f"{mine.pk}:large"]
    assert "secret" not in there
    assert there.count("aria-current") == 1, "the profile's model"
    assert f'hx-get="/models/listed/?conversation={conversation.pk}&amp;connection={mine.pk}"' in there
    listed = owners.get("/models/listed/", {"connection": mine.pk}, headers=HTMX).content.decode()
    assert OPTION.findall(listed) == [f"{mine.pk}:large", f"{mine.pk}:demo"]
    assert "hx-get" not in listed
    profile = Profile.objects.get(title="Careful").pk
    new = offered(owners, profile=profile)
    assert GROUP.findall(new) == ["Mine", "Environment"], "those of the profile's connection first"
    assert OPTION.findall(new) == ["", f"{mine.pk}:large", f"{mine.pk}:demo", ":usual"]
    assert owners.get("/models/listed/", {"connection": theirs.pk}).status_code == 404


def test_the_palette_has_lists_fetched(owners: Client, mine: Connection, settings: Any) -> None:
    settings.MODEL_BASE_URL, settings.MODEL_TRANSPORT = "http://127.0.0.1:1/v1", None  # nothing listens there
    model_lists._lists.clear()

    def found() -> bool:
        answer = owners.get("/palette/", {"q": "demo"}, headers=HTMX)
        return f"model={mine.pk}%3Ademo" in answer.content.decode()

    assert not found()
    assert owners.get("/models/fetch/").status_code == 200
    assert found()
    assert owners.get("/models/fetch/").status_code == 204, "nothing new"


def test_a_connection_that_does_not_answer_offers_what_is_known(
    owners: Client, owner: User, settings: Any
) -> None:
    settings.MODEL_NAME, settings.MODEL_BASE_URL, settings.MODEL_TRANSPORT = (
        "usual",
        "http://127.0.0.1:1/v1",
        None,
    )
    listed = owners.get("/models/listed/", headers=HTMX).content.decode()
    assert OPTION.findall(listed) == [":usual"]


def test_a_model_is_kept_with_the_conversation(
    owners: Client, conversation: Conversation, mine: Connection
) -> None:
    answer = choose(owners, conversation, f"{mine.pk}:large")
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/conversations/{conversation.pk}/")
    conversation.refresh_from_db()
    assert (conversation.model.connection, conversation.model.model) == (mine, "large")  # type: ignore[union-attr]
    page = owners.get(f"/conversations/{conversation.pk}/").content.decode()
    assert re.search(r'class="model-choice__name">large<', page)
    assert f'value="{mine.pk}:large"' in (there := offered(owners, conversation=conversation.pk))
    assert re.search(rf'value="{mine.pk}:large"\s+aria-selected="false" aria-current="true"', there)
    plain = owners.get("/models/", {"conversation": conversation.pk}).content.decode()
    assert "<h1" in plain and f'value="{mine.pk}:large"' in plain, "a page, where no script runs"  # noqa: PT018
    assert choose(owners, conversation, "", headers=HTMX).status_code == 204
    conversation.refresh_from_db()
    assert conversation.model is None
    assert ModelSettings.objects.count() == 1


def test_what_is_no_model_of_ones_own_is_refused(
    owners: Client, strangers: Client, conversation: Conversation, theirs: Connection
) -> None:
    for choice in (
        f"{theirs.pk}:large",
        "9:large",
        f"{'9' * 30}:large",
        "large",
        ":",
        "x:large",
        ":a\x00b",
        f":{'x' * 201}",
    ):
        answer = choose(owners, conversation, choice)
        assert answer.status_code == 400, choice
        assert "This model is no longer available. Choose another one." in answer.content.decode()
    assert not ModelSettings.objects.exists()
    assert strangers.get("/models/", {"conversation": conversation.pk}).status_code == 404
    answer = owners.post("/", {"text": "Hello", "model": f"{theirs.pk}:large"})
    assert answer.status_code == 400
    assert "This model is no longer available. Choose another one." in answer.content.decode()
    assert Conversation.objects.count() == 1


def test_a_new_conversation_begins_with_a_model(owners: Client, mine: Connection) -> None:
    owners.post("/", {"text": "Hello", "model": f"{mine.pk}:large"})
    conversation = Conversation.objects.get()
    assert conversation.model == ModelSettings.objects.get(connection=mine, model="large")
    assert conversation.profile_in_use().connection == mine
    page = owners.get("/", {"model": ":small"}).content.decode()
    assert 'value=":small"' in page
    assert re.search(r'class="model-choice__name">small<', page)


def test_the_choice_for_a_new_conversation_is_marked(owners: Client, mine: Connection) -> None:
    ModelSettings.objects.create(connection=mine, model="large")
    shown = owners.get(
        "/models/", {"model": f"{mine.pk}:large"}, headers={"HX-Request": "true"}
    ).content.decode()
    (current,) = re.findall(r"<[^>]*aria-current[^>]*>", shown)
    assert f'value="{mine.pk}:large"' in current


def test_connections_of_one_name_are_told_apart(owners: Client, mine: Connection) -> None:
    Connection.objects.create(name=mine.name, base_url="https://other.example/v1")
    shown = owners.get("/models/", headers={"HX-Request": "true"}).content.decode()
    for heading in (f"{mine.name} · {mine.base_url}", f"{mine.name} · https://other.example/v1"):
        assert f'aria-label="{heading}"' in shown


def test_who_can_use_a_model_is_not_told_to_connect_one(
    owners: Client, conversation: Conversation, theirs: Connection, settings: Any
) -> None:
    settings.DEMO = True
    pages = ("/", f"/conversations/{conversation.pk}/")
    for each in pages:
        assert "Connect a real model" in owners.get(each).content.decode()
    Connection.objects.filter(pk=theirs.pk).update(owner=None)
    for each in pages:
        shown = owners.get(each).content.decode()
        assert "A model is connected." in shown
        assert "Connect a real model" not in shown


def test_a_real_model_is_not_called_a_script(
    owners: Client, conversation: Conversation, mine: Connection, settings: Any
) -> None:
    settings.DEMO = True
    assert "Scripted replies" in owners.get(f"/conversations/{conversation.pk}/").content.decode()
    choose(owners, conversation, f"{mine.pk}:large")
    assert "Scripted replies" not in owners.get(f"/conversations/{conversation.pk}/").content.decode()
