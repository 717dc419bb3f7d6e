"""A conversation whose rows are written as a worker writes them."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User

from chat.models import Conversation, Step, TodoRevision, ToolCall, Turn
from tests.plan.test_difference import a_list


class Work:
    """Writes what an agent did, turn by turn; revisions are told as `a_list` takes them."""

    def __init__(self, owner: User) -> None:
        self.conversation = Conversation.begin(owner, "Message 1", uuid.uuid4(), None)
        self.turn = self.conversation.turns.get()
        self.step: Step | None = None

    def write(self, *items: str) -> Work:
        """An accepted list."""
        call = self.call("TodoWrite", "succeeded")
        TodoRevision.write(self.turn, call, "focused", [dict(item) for item in a_list(*items)])
        return self

    def edit(self, *items: str, skipped: str = "") -> Work:
        """The person's list; what they left out of it is named by letters."""
        self.turn.refresh_from_db()
        TodoRevision.edit(self.turn, "focused", [dict(item) for item in a_list(*items)], list(skipped))
        return self

    def look(self, *paths: str) -> Work:
        """So many files are read."""
        for path in paths:
            self.call("read_file", "succeeded", arguments=f'{{"path": "{path}"}}')
        return self

    def refused(self) -> Work:
        """A list that did not pass."""
        self.call("TodoWrite", "failed", output="Error: Item 0: content required")
        return self

    def call(self, name: str, status: str, **more: Any) -> ToolCall:
        """A step with one call."""
        self.step = self.turn.steps.create(number=self.turn.steps.count() + 1)
        return self.turn.tool_calls.create(step=self.step, index=0, name=name, status=status, **more)

    def end(self, status: Turn.Status = Turn.Status.COMPLETED, sentence: str = "") -> Work:
        """The turn is over."""
        claimed = Turn.claim("worker", self.turn.pk)
        assert claimed is not None
        claimed.end(status, sentence)
        return self

    def go_on(self) -> Work:
        """The person's next message."""
        text = f"Message {self.conversation.turns.count() + 1}"
        self.turn = self.conversation.start_turn(text, uuid.uuid4())
        return self


@pytest.fixture
def work(owner: User) -> Work:
    return Work(owner)
