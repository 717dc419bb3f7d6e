"""Profiles: the built-in ones, and who may choose which."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import ValidationError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from chat.models import Conversation, Profile


def migrate(name: str) -> None:
    MigrationExecutor(connection).migrate([("chat", name)])


@pytest.fixture
def before_profiles(transactional_db: Any) -> Any:
    """The database as it was before the profiles were added."""
    latest = [key for key in MigrationExecutor(connection).loader.graph.leaf_nodes() if key[0] == "chat"]
    migrate("0001_initial")
    assert not Profile.objects.exists()
    yield
    migrate(latest[0][1])


def test_three_ship_ready_one_for_each_policy(before_profiles: None, settings: Any) -> None:
    policies = ["focused", "lean", "checklist"]
    for language_code, language, titles in [
        ("en", "en", ["Focused", "Lean", "Checklist"]),
        ("zh-hans", "zh", ["专注", "精简", "清单"]),
    ]:
        settings.LANGUAGE_CODE = language_code
        migrate("0001_initial")
        migrate("0002_first_profiles")
        told = Profile.objects.values_list("title", "todo_policy", "language", "owner", "max_todos", "model")
        assert list(told) == [
            (title, policy, language, None, 20, "") for title, policy in zip(titles, policies, strict=True)
        ]


def test_those_that_ship_ready_differ_in_colour_where_none_was_used(
    before_profiles: None, owner: User
) -> None:
    migrate("0035_dismissed_revisions")
    assert set(Profile.objects.values_list("colour", flat=True)) == {"blue"}
    Profile.objects.filter(title="Lean").update(colour="red")
    migrate("0036_colours_of_first_profiles")
    told = dict(Profile.objects.values_list("title", "colour"))
    assert told == {"Focused": "blue", "Lean": "red", "Checklist": "violet", "Asks first": "amber"}
    Profile.objects.update(colour="blue")
    migrate("0035_dismissed_revisions")
    Conversation.objects.create(owner=owner).turns.create(client_id=uuid.uuid4())
    migrate("0036_colours_of_first_profiles")
    assert set(Profile.objects.values_list("colour", flat=True)) == {"blue"}


def test_everybodys_profiles_are_offered_and_ones_own(owner: User, stranger: User) -> None:
    Profile.objects.all().delete()
    mine = Profile.objects.create(title="Mine", owner=owner, position=2)
    theirs = Profile.objects.create(title="Theirs", owner=stranger, position=1)
    common = Profile.objects.create(title="Common", position=3)
    assert list(Profile.offered_to(owner)) == [mine, common]
    assert list(Profile.offered_to(stranger)) == [theirs, common]
    assert list(Profile.offered_to(AnonymousUser())) == [common]


@pytest.mark.parametrize("numbers", [{"max_todos": 0}, {"max_todos": 201}, {"remind_after": 0}])
def test_numbers_have_bounds(db: Any, numbers: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        Profile(title="Odd", **numbers).full_clean()
