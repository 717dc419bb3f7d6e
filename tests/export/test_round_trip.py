"""A conversation that was exported and imported is the same one, in another's hands."""

from __future__ import annotations

import copy
import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import models
from django.test import Client
from django.utils import translation
from jsonschema import Draft202012Validator

from chat.export.file_format import EXCLUDED_MODELS, TABLES, Table, schema
from chat.export.json_file import json_pieces
from chat.files.conversation_workspace import folder_of
from chat.models import Connection, Conversation, DailyUsage, Preferences, Profile, Turn
from tests.export.conftest import exported, imported
from tests.export.rich import Rich

SCHEMA = Path(__file__).parents[2] / "docs" / "export.schema.json"


def again(conversation: Conversation, owner: User) -> Conversation:
    """The conversation after a journey through a file."""
    return imported(exported(conversation), owner)


def same(file: dict[str, Any]) -> dict[str, Any]:
    """What must be the same in both files."""
    return {**file, "exported_at": None}


@pytest.mark.parametrize("seed", range(12))
def test_it_comes_back_as_it_was(owner: User, stranger: User, seed: int) -> None:
    before = exported(Rich(owner, seed).conversation)
    made = imported(before, stranger)
    assert same(exported(made)) == same(before)
    assert made.owner == stranger
    assert not DailyUsage.objects.exists()
    assert list(folder_of(made).iterdir()) == []


def test_each_copy_has_a_title_of_its_own(owner: User, stranger: User) -> None:
    conversation = Conversation.objects.create(owner=owner, title="t" * 195)
    titles = [again(conversation, owner).title for _time in range(3)]
    assert titles == ["t" * 193 + " (copy)", "t" * 191 + " (copy 2)", "t" * 191 + " (copy 3)"]
    with translation.override("zh-hans"):
        journey = Conversation.objects.create(owner=owner, title="旅行")
        assert [again(journey, owner).title for _time in range(2)] == ["旅行（副本）", "旅行（副本 2）"]
    assert [again(conversation, stranger).title for _time in range(2)] == ["t" * 195, "t" * 193 + " (copy)"]


@pytest.mark.parametrize("tenth", range(10))
def test_what_is_exported_while_the_agent_works_can_be_imported(
    owner: User, stranger: User, tenth: int
) -> None:
    """Between two pieces of the file the turn gets another step, and a list of before is told of in it."""
    rich = Rich(owner, 7, turns=2, calls=6)
    turn = rich.conversation.turns.latest("pk")
    place = len(list(json_pieces(rich.conversation))) * tenth // 10
    file = ""
    for number, piece in enumerate(json_pieces(rich.conversation)):
        file += piece
        if number == place:
            rich._step(turn, turn.steps.count() + 1)
            rich.conversation.revisions.update(delivered_in_step=turn.steps.latest("pk"))
    made = imported(json.loads(file), stranger)
    assert made.turns.count() == 2


@pytest.mark.parametrize("seed", range(3))
def test_it_is_as_the_schema_says(owner: User, seed: int) -> None:
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(exported(Rich(owner, seed).conversation))


def test_the_schema_that_is_documented_is_the_one_that_holds() -> None:
    written = json.dumps(schema(), indent=2) + "\n"
    assert SCHEMA.read_text() == written, "write it anew: python -m tests.export.write_schema"


def test_the_pages_show_the_same(owner: User, owners: Client) -> None:
    rich = Rich(owner, 4).conversation
    made = again(rich, owner)
    for page in ("", "plan/"):
        shown = owners.get(f"/conversations/{made.pk}/{page}")
        assert shown.status_code == 200
        known = owners.get(f"/conversations/{rich.pk}/{page}").content.decode()
        assert known.count('class="tool-call"') == shown.content.decode().count('class="tool-call"')


def test_the_list_says_that_it_was_imported(owner: User, stranger: User, owners: Client) -> None:
    again(Rich(stranger, 2).conversation, owner)
    Conversation.begin(owner, "Begun here", uuid.uuid4(), None)
    assert owners.get("/conversations/").content.decode().count("conversation-row__imported") == 1


def test_it_can_be_gone_on_with(owner: User) -> None:
    made = again(Rich(owner, 2).conversation, owner)
    for turn in made.turns.all():
        assert not turn.is_active
    made.send("And now?", made.pk)
    turn = Turn.claim("worker")
    assert turn is not None
    assert turn.conversation == made
    assert turn.follows == made.turns.exclude(pk=turn.pk).order_by("pk").last()
    assert "id" in turn.profile_snapshot["changed"]


@pytest.mark.parametrize("is_default", [False, True])
def test_it_goes_on_with_the_profile_of_the_same_name(owner: User, stranger: User, is_default: bool) -> None:
    asks = Profile.objects.create(title="Careful", connection=Connection.objects.create(name="Ours"))
    made = Conversation.begin(owner, "Hello", uuid.uuid4(), asks)
    first = Turn.claim("worker")
    assert first
    first.end(Turn.Status.COMPLETED)
    if is_default:
        Preferences.objects.update_or_create(user=stranger, defaults={"default_profile": asks})
    here = again(made, stranger)
    assert here.profile == (None if is_default else asks)
    assert here.profile_in_use() == asks
    here.send("And?", uuid.uuid4())
    turn = Turn.claim("worker")
    assert turn
    assert turn.conversation == here
    assert turn.profile_snapshot["changed"] == []
    asks.delete()
    assert again(made, owner).profile is None


def within() -> set[type[models.Model]]:
    """The models whose rows belong to a conversation."""
    found: set[type[models.Model]] = {Conversation}
    while True:
        more = {
            model
            for model in apps.get_app_config("chat").get_models()
            for field in model._meta.concrete_fields
            if field.related_model in found and field.remote_field.on_delete is models.CASCADE
        }
        if more <= found:
            return found
        found |= more


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.model.__name__)
def test_every_field_is_exported_or_named_as_left_out(table: Table[Any]) -> None:
    names = [*map(table.attribute, (*table.fields, *table.refs)), *table.excluded, *table.words]
    meta = table.model._meta
    assert sorted(names) == sorted(field.name for field in (*meta.concrete_fields, *meta.many_to_many))


def test_every_model_is_exported_or_named_as_left_out() -> None:
    named = {table.model.__name__ for table in TABLES} | set(EXCLUDED_MODELS)
    assert {model.__name__ for model in within()} <= named


def test_a_file_of_before_a_field_was_there(owner: User) -> None:
    file = exported(Rich(owner, 1).conversation)
    older = copy.deepcopy(file)
    for turn in older["turns"]:
        del turn["blind"], turn["deaths"]
    made = imported(older, owner)
    assert {turn["blind"] for turn in exported(made)["turns"]} == {False}
