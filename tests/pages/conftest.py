"""A conversation of the owner's, and the owner's and the stranger's browsers."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chat.models import Conversation, FollowUp, Turn


@pytest.fixture(autouse=True)
def workspaces(settings: Any, tmp_path: Path) -> Path:
    """Where conversations work that name no directory."""
    settings.WORKSPACES = tmp_path / "workspaces"
    return tmp_path / "workspaces"


@pytest.fixture
def conversation(owner: User) -> Conversation:
    """The owner's, with a turn that waits."""
    return Conversation.begin(owner, "Look around", uuid.uuid4(), None)


@pytest.fixture
def turn(conversation: Conversation) -> Turn:
    return conversation.turns.get()


@pytest.fixture
def failed(conversation: Conversation, turn: Turn) -> Turn:
    """The same turn, come to nothing."""
    claimed = Turn.claim("worker", turn.pk)
    assert claimed is not None
    claimed.end(Turn.Status.FAILED, "The endpoint is down.")
    return claimed


@pytest.fixture
def held(conversation: Conversation) -> FollowUp:
    """A message of the owner's that is held."""
    return conversation.follow_ups.create(client_id=uuid.uuid4(), text="And this")


@pytest.fixture
def owners(owner: User, browser_of: Callable[[User], Client]) -> Client:
    return browser_of(owner)


@pytest.fixture
def strangers(stranger: User, browser_of: Callable[[User], Client]) -> Client:
    return browser_of(stranger)
