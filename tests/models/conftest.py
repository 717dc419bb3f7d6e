"""A conversation without turns, and turns in it."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from chat.models import Conversation, Step, ToolCall, Turn


@pytest.fixture
def conversation(owner: User) -> Conversation:
    return Conversation.objects.create(owner=owner, title="Test")


@pytest.fixture
def turn(conversation: Conversation) -> Turn:
    """A queued turn."""
    return conversation.start_turn("Do it", uuid.uuid4())


@pytest.fixture
def running(turn: Turn) -> Turn:
    """The same turn, claimed by a worker."""
    claimed = Turn.claim("worker", turn.pk)
    assert claimed is not None
    return claimed


@pytest.fixture
def call(running: Turn) -> ToolCall:
    """A call of its first step that has not begun."""
    step = Step.objects.create(turn=running, number=1)
    return ToolCall.objects.create(turn=running, step=step, index=0, call_id="a", name="bash")


@pytest.fixture
def ended(conversation: Conversation) -> Callable[..., Turn]:
    """Makes a turn that has come to an end."""

    def make(status: Turn.Status = Turn.Status.COMPLETED, text: str = "Do it") -> Turn:
        turn = conversation.start_turn(text, uuid.uuid4())
        claimed = Turn.claim("worker", turn.pk)
        assert claimed is not None
        claimed.end(status)
        return claimed

    return make
