"""Revisions: their authors and positions."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from chat.models import TodoRevision, ToolCall, Turn

ITEMS = [
    {"id": "a", "content": "Look", "status": "pending"},
    {"id": "b", "content": "Do", "status": "completed"},
]


def test_a_list_of_the_agents(call: ToolCall) -> None:
    revision = TodoRevision.write(call.turn, call, "focused", ITEMS)
    assert not revision.is_by_user
    assert (revision.done, revision.total) == (1, 2)
    call.turn.conversation.refresh_from_db()
    assert call.turn.conversation.todos_left == 1


def test_a_list_of_the_persons_stands_behind_the_latest_call_that_has_begun(call: ToolCall) -> None:
    ToolCall.objects.filter(pk=call.pk).update(status=ToolCall.Status.RUNNING)
    later = call.turn.steps.create(number=call.step.number + 1)
    call.turn.tool_calls.create(step=later, index=0, name="bash")
    revision = TodoRevision.edit(call.turn, "focused", ITEMS[:1], ["b"])
    revision.refresh_from_db()
    assert revision.is_by_user
    assert (revision.after, revision.afterwards, revision.skipped) == (call, False, ["b"])
    call.turn.conversation.refresh_from_db()
    assert call.turn.conversation.todos_left == 1


def test_one_that_comes_after_the_turn_says_so(turn: Turn) -> None:
    turn.status = Turn.Status.COMPLETED
    assert TodoRevision.edit(turn, "focused", ITEMS).afterwards


@pytest.mark.parametrize("wrong", [{"author": "nobody"}, {"author": "person", "tool_call": True}])
def test_it_is_the_agents_or_the_persons(call: ToolCall, wrong: dict[str, object]) -> None:
    if "tool_call" in wrong:
        wrong = wrong | {"tool_call": call}
    with pytest.raises(IntegrityError), transaction.atomic():
        TodoRevision.objects.create(conversation=call.turn.conversation, turn=call.turn, **wrong)
