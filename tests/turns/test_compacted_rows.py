"""The rows restore exactly what the agent kept, also after compaction."""

from __future__ import annotations

import random
import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User

from chat.agent import Compacted
from chat.agent.context import compacted, render_messages
from chat.agent.context.annotations import render_message
from chat.agent.context.context import CompactionPlan
from chat.agent.meter import message_tokens
from chat.models import Conversation, Turn
from chat.turns.compaction import compact
from chat.turns.transcript import transcript
from tests.agent.context.small_window import check_valid

SYSTEM = {"role": "system", "content": "You are an agent."}
ENDS = [Turn.Status.COMPLETED, Turn.Status.STOPPED, Turn.Status.INTERRUPTED]


class Rows:
    """Writes a random conversation down."""

    def __init__(self, owner: User, seed: int) -> None:
        self.random = random.Random(seed)
        self.conversation = Conversation.objects.create(owner=owner, title="Test")

    def words(self) -> str:
        return ("words and " * self.random.choice([1, 30, 300, 1500])).strip()

    def turn(self) -> Turn:
        self.conversation.start_turn(self.words(), uuid.uuid4())
        turn = Turn.claim("worker")
        assert turn
        for number in range(1, self.random.randint(1, 5)):
            self.step(turn, number)
        return turn

    def step(self, turn: Turn, number: int) -> None:
        reminder = self.random.choice(["", "", "Update your todos."])
        step = turn.steps.create(
            number=number, reminder=reminder if number > 1 else "", ended_at=turn.started_at
        )
        turn.messages.create(step=step, role="assistant", text=self.random.choice(["", "I look."]))
        for index in range(self.random.randint(1, 3)):
            status = self.random.choice(["succeeded", "succeeded", "failed", "denied", "unknown"])
            turn.tool_calls.create(
                step=step, index=index, call_id=f"look:{index}", name="read_file", arguments='{"path": "a"}',
                status=status, output=self.words(), started_at=turn.started_at,
            )  # fmt: skip
        for _ in range(self.random.choice([0, 0, 1, 2])):
            turn.messages.create(step=step, role="user", text=self.words())

    def end(self, turn: Turn) -> None:
        status = self.random.choice(ENDS)
        if status == Turn.Status.COMPLETED:
            step = turn.steps.create(number=99, ended_at=turn.started_at)
            turn.messages.create(step=step, role="assistant", text=self.words())
        turn.end(status)


def leave_out(turn: Turn, space: int, number: int) -> list[dict[str, Any]]:
    """What an agent keeps in mind of the turn's conversation, once the rows say so, too."""
    messages = transcript(turn)
    plan = CompactionPlan(messages, [message_tokens(render_message(each)) for each in messages], space, "en")
    plan.build()
    plan.cut_latest_results()
    carried = f"<summary>\nNumber {number}.\n</summary>" if plan.kept_from else ""
    event = Compacted(number, len(messages), plan.shortened, plan.kept_from, carried)
    assert compact(turn, event) or not (plan.shortened or plan.kept_from)
    return compacted(messages, event)


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.django_db
def test_they_are_the_same(owner: User, seed: int) -> None:
    rows = Rows(owner, seed)
    for _ in range(rows.random.randint(0, 6)):
        rows.end(rows.turn())
    turn = rows.turn()
    for number in range(1, 5):
        kept = leave_out(turn, rows.random.choice([300, 1500, 6000]), number)
        assert transcript(turn) == kept
        check_valid([SYSTEM, *render_messages(kept, "en")])
        rows.step(turn, 10 * number)
    before = transcript(turn)
    rows.end(turn)
    assert transcript(rows.turn())[: len(before)] == before
