"""Conversations with rows as a worker writes them, and the owner's browser."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chat.models import Conversation, Step, TodoRevision, ToolCall, Turn
from chat.search.index import index_turn, marked_turns


def index_marked() -> None:
    """Index what is marked, as a worker does every other second."""
    for turn in marked_turns():
        index_turn(turn)


class Talk:
    """A conversation, and what is said and done in it."""

    def __init__(self, owner: User, text: str) -> None:
        self.conversation = Conversation.begin(owner, text, uuid.uuid4(), None)
        self.turn = self.conversation.turns.get()

    def step(self) -> Step:
        return self.turn.steps.create(number=self.turn.steps.count() + 1)

    def answer(self, text: str, **more: Any) -> Talk:
        """The agent writes."""
        self.turn.messages.create(step=self.step(), role="assistant", text=text, **more)
        return self

    def call(
        self, name: str, arguments: str = "", output: str = "", status: str = "succeeded", **more: Any
    ) -> ToolCall:
        """The agent has called a tool."""
        given = {"name": name, "arguments": arguments, "output": output, "status": status}
        return self.turn.tool_calls.create(step=self.step(), index=0, **given, **more)

    def plan(self, *contents: str) -> Talk:
        """The agent writes a list, with ids by their order."""
        items = [
            {"id": f"i{number}", "content": text, "status": "pending", "active_form": text, "key": ""}
            for number, text in enumerate(contents)
        ]
        TodoRevision.write(self.turn, self.call("TodoWrite"), "focused", items)
        return self

    def end(self, status: Turn.Status = Turn.Status.COMPLETED) -> Talk:
        """The turn is over."""
        claimed = Turn.claim("worker", self.turn.pk)
        assert claimed is not None
        claimed.close_rows(running="unknown")
        claimed.end(status)
        return self

    def go_on(self, text: str) -> Talk:
        """The user's next message."""
        self.turn = self.conversation.start_turn(text, uuid.uuid4())
        return self


@pytest.fixture
def talk(owner: User) -> Callable[[str], Talk]:
    """Begins a conversation of the owner's."""
    return lambda text: Talk(owner, text)


@pytest.fixture
def owners(owner: User, browser_of: Callable[[User], Client]) -> Client:
    return browser_of(owner)


@pytest.fixture
def strangers(stranger: User, browser_of: Callable[[User], Client]) -> Client:
    return browser_of(stranger)
