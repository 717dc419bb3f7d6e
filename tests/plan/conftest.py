"""A conversation whose rows are written as a worker writes them."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from chat.models import Conversation, Step, TodoRevision, ToolCall, Turn
from tests.plan.test_difference import a_list

NEVER_RUN = ("pending", "waiting", "denied", "stopped")


class Work:
    """Writes an agent's turns; revisions use the notation of `a_list`."""

    def __init__(self, owner: User) -> None:
        self.conversation = Conversation.begin(owner, "Message 1", uuid.uuid4(), None)
        self.turn = self.conversation.turns.get()
        self.step: Step | None = None
        self.policy = "focused"

    def write(self, *items: str, **more: Any) -> Work:
        """An accepted list."""
        call = self.call("TodoWrite", "succeeded", **more)
        return self.revise(call, *items)

    def revise(self, call: ToolCall, *items: str) -> Work:
        """The list that a call left."""
        TodoRevision.write(self.turn, call, self.policy, [dict(item) for item in a_list(*items)])
        return self

    def edit(self, *items: str, skipped: str = "") -> Work:
        """The user's list; the letters name the items they removed."""
        self.turn.refresh_from_db()
        TodoRevision.edit(self.turn, self.policy, [dict(item) for item in a_list(*items)], list(skipped))
        return self

    def look(self, *paths: str) -> Work:
        """So many files are read."""
        for path in paths:
            self.call("read_file", "succeeded", arguments=f'{{"path": "{path}"}}')
        return self

    def refused(self) -> Work:
        """A list that did not pass."""
        self.call("TodoWrite", "failed", output="Error", detail={"refusal": "required.content"})
        return self

    def call(self, name: str, status: str, **more: Any) -> ToolCall:
        """A step with one call, by default one that ran."""
        self.step = self.turn.steps.create(number=self.turn.steps.count() + 1, input_tokens=100)
        return self.beside(name, status, **more)

    def beside(self, name: str, status: str, **more: Any) -> ToolCall:
        """One more call of the latest step."""
        assert self.step
        ran = {} if status in NEVER_RUN else {"started_at": timezone.now()}
        place = {"step": self.step, "index": self.step.tool_calls.count()}
        return self.turn.tool_calls.create(**place, name=name, status=status, **ran | more)

    def say(self) -> Work:
        """A step without calls."""
        self.turn.steps.create(number=self.turn.steps.count() + 1, input_tokens=100)
        return self

    def end(self, status: Turn.Status = Turn.Status.COMPLETED, sentence: str = "") -> Work:
        """The turn is over."""
        claimed = Turn.claim("worker", self.turn.pk)
        assert claimed is not None
        claimed.end(status, sentence)
        return self

    def go_on(self) -> Work:
        """The user's next message."""
        text = f"Message {self.conversation.turns.count() + 1}"
        self.turn = self.conversation.start_turn(text, uuid.uuid4())
        return self

    def resume(self) -> Work:
        """The turn that "Continue" starts: on the open items, or after a bad end on what was cut off."""
        is_cut_off = self.conversation.turns.get(pk=self.turn.pk).can_be_retried
        client_id = self.turn.retry_id if is_cut_off else self.turn.continue_id
        self.turn = self.conversation.start_turn("Continue", client_id)
        return self


@pytest.fixture
def work(owner: User) -> Work:
    return Work(owner)
