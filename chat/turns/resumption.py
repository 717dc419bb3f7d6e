"""What a turn that is taken up again has behind it, read from its rows."""

from __future__ import annotations

from chat.agent import Reply, Spent
from chat.agent import ToolCall as CallRequest
from chat.agent.todo import TODO_WRITE
from chat.models import Message, Step, ToolCall, Turn
from chat.turns.recorder import Recorder


class Past:
    """The steps of a turn, read once, oldest first. One that no worker has held before has none."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        taken_before = turn.fence > 1
        self.steps = list(turn.steps.prefetch_related("tool_calls")) if taken_before else []
        self.finished = [step for step in self.steps if step.ended_at]  # whose reply came to its end

    @property
    def is_answered(self) -> bool:
        """Whether the model has said its last word already, so that only the end is missing."""
        return bool(self.finished) and not self.finished[-1].tool_calls.all()

    @property
    def latest_step(self) -> Step | None:
        """The step whose results the next request ends with; None ahead of the first."""
        return self.finished[-1] if self.finished else None

    @property
    def spent(self) -> Spent:
        """What the turn has used of its limits so far; nothing for a new one."""
        rounds = reminders = 0
        for step in self.finished:
            calls = list(step.tool_calls.all())
            if step.reminder:
                rounds, reminders = 0, reminders + 1
            if any(call.status == ToolCall.Status.PENDING for call in calls):
                break  # the step is gone on with, and counted then
            rounds = 0 if TODO_WRITE in [call.name for call in calls] else rounds + 1
        return Spent(
            steps=len(self.finished),
            tool_calls=sum(call.ran for step in self.steps for call in step.tool_calls.all()),
            seconds=sum(map(_seconds_of, self.finished)),
            rounds=rounds,
            reminders=reminders,
        )

    def take_up(self, recorder: Recorder) -> Reply | None:
        """The reply whose calls were not all run as the turn was left, to go on with; None for none.

        The recorder stands in that step again, and knows the steps that were left without a reply.
        """
        left = [step for step in self.steps if not step.ended_at]
        recorder.unanswered = {step.number: step for step in left}
        if left:
            begun = Message.objects.filter(step__in=left, role=Message.Role.ASSISTANT)
            recorder.cut_offs = {message.step_id: message for message in begun if message.step_id}
        for step in left:
            step.turn = self.turn  # rows are drawn where no database is asked
        for message in recorder.cut_offs.values():
            message.turn = self.turn
        pending = (step for step in self.finished if any(map(_is_pending, step.tool_calls.all())))
        unfinished = next(pending, None)
        return _unfinished(unfinished, recorder) if unfinished else None


def _unfinished(step: Step, recorder: Recorder) -> Reply:
    step.turn = recorder.turn
    recorder.step = step
    rows = sorted(step.tool_calls.all(), key=lambda call: call.index)
    for row in rows:
        row.turn, row.step = recorder.turn, step
    recorder.calls = {row.wire_id: row for row in rows}
    said = step.messages.filter(role=Message.Role.ASSISTANT).first()
    requests = [CallRequest(row.wire_id, row.name, row.arguments, row.extra) for row in rows]
    return Reply(said.text if said else "", "", tuple(requests), step.finish_reason)


def _is_pending(call: ToolCall) -> bool:
    return call.status == ToolCall.Status.PENDING


def _seconds_of(step: Step) -> float:
    """How long the step took, with its calls. What lies between two workers is nobody's work.

    Neither is the time in which a person was asked.
    """
    ended = [call for call in step.tool_calls.all() if call.ended_at]
    ends = [step.ended_at, *(call.ended_at for call in ended)]
    took = max(0.0, *((end - step.started_at).total_seconds() for end in ends if end))
    return max(0.0, took - sum(call.waited for call in ended))
