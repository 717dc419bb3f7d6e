"""What a turn that is taken up again has behind it, read from its rows."""

from __future__ import annotations

from chat.agent import Reply, Spent
from chat.agent import ToolCall as CallRequest
from chat.agent.todo import TODO_WRITE
from chat.live.recorder import Recorder
from chat.models import Message, Step, ToolCall, Turn


def is_answered(turn: Turn) -> bool:
    """Whether the model has said its last word already, so that only the end is missing."""
    last = _finished_steps(turn)[-1:]
    return bool(last) and not last[0].tool_calls.all()


def latest_step(turn: Turn) -> Step | None:
    """The step whose results the next request ends with; None ahead of the first."""
    return next(reversed(_finished_steps(turn)), None)


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
    return Spent(
        steps=len(steps),
        tool_calls=turn.tool_calls.filter(started_at__isnull=False).count(),
        seconds=sum(map(_seconds_of, steps)),
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


def _seconds_of(step: Step) -> float:
    """How long the step took, with its calls. What lies between two workers is nobody's work.

    Neither is the time in which a person was asked.
    """
    ended = [call for call in step.tool_calls.all() if call.ended_at]
    ends = [step.ended_at, *(call.ended_at for call in ended)]
    took = max(0.0, *((end - step.started_at).total_seconds() for end in ends if end))
    return max(0.0, took - sum(call.waited for call in ended))


def _finished_steps(turn: Turn) -> list[Step]:
    """The steps whose reply came to its end, oldest first."""
    return list(turn.steps.filter(ended_at__isnull=False).prefetch_related("tool_calls"))
