"""What a turn that is taken up again has behind it, read from its rows."""

from __future__ import annotations

import datetime

from django.utils import timezone

from chat.agent import Reply, Spent
from chat.agent import ToolCall as CallRequest
from chat.agent.todo import TODO_WRITE
from chat.live.recorder import Recorder
from chat.models import Message, Step, ToolCall, Turn


def is_answered(turn: Turn) -> bool:
    """Whether the model has said its last word already, so that only the end is missing."""
    last = _finished_steps(turn)[-1:]
    return bool(last) and not last[0].tool_calls.all()


def spent_by(turn: Turn) -> Spent:
    """What the turn has used of its limits so far; nothing for a new one."""
    steps = _finished_steps(turn)
    if not steps:
        return Spent()
    rounds = reminders = 0
    for step in steps:
        calls = list(step.tool_calls.all())
        names = [call.name for call in calls]
        if step.reminder:
            rounds, reminders = 0, reminders + 1
        if any(call.status == ToolCall.Status.PENDING for call in calls):
            break  # the step is gone on with, and counted then
        rounds = 0 if TODO_WRITE in names else rounds + 1
    began = turn.started_at or timezone.now()
    return Spent(
        steps=len(steps),
        tool_calls=turn.tool_calls.filter(started_at__isnull=False).count(),
        seconds=(timezone.now() - began - _waited(turn)).total_seconds(),
        rounds=rounds,
        reminders=reminders,
    )


def take_up(recorder: Recorder) -> Reply | None:
    """The reply whose calls were not all run as the turn was left, to go on with; None for none.

    The recorder stands in that step again.
    """
    turn = recorder.turn
    pending = turn.tool_calls.filter(status=ToolCall.Status.PENDING).select_related("step").first()
    if pending is None:
        return None
    step = recorder.step = pending.step
    rows = list(step.tool_calls.order_by("index"))
    for row in rows:
        row.turn = turn
    recorder.calls = {row.wire_id: row for row in rows}
    said = step.messages.filter(role=Message.Role.ASSISTANT).first()
    requests = [CallRequest(row.wire_id, row.name, row.arguments, row.extra) for row in rows]
    return Reply(said.text if said else "", "", tuple(requests), step.finish_reason)


def _waited(turn: Turn) -> datetime.timedelta:
    """How long it stood still because the person was asked."""
    asked = turn.tool_calls.filter(asked_at__isnull=False, decided_at__isnull=False)
    waits = [call.decided_at - call.asked_at for call in asked if call.decided_at and call.asked_at]
    return sum(waits, datetime.timedelta())


def _finished_steps(turn: Turn) -> list[Step]:
    """The steps whose reply came to its end, oldest first."""
    return list(turn.steps.filter(ended_at__isnull=False).prefetch_related("tool_calls"))
