"""What a turn's steps tell of planning: lists written and refused, reminders, and tokens."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef

from chat.agent.todo import reason_of
from chat.models import Conversation, Message, Step, ToolCall, Turn
from chat.models.tool_call import TODO_WRITE
from chat.plan.planning_tokens import offering_tokens, written_tokens
from chat.plan.tally import Tally


@dataclass(frozen=True)
class Planned:
    """A step with a list among its calls: all of them, what it said besides, and why lists were refused."""

    calls: Sequence[ToolCall]
    said: Message | None
    refusals: Sequence[str]

    @property
    def lists(self) -> list[ToolCall]:
        """Its TodoWrite calls."""
        return [call for call in self.calls if call.is_todo_write]

    @property
    def nothing_else(self) -> bool:
        """Whether it asked for nothing but lists."""
        return len(self.lists) == len(self.calls)


def turn_tallies(conversation: Conversation, turns: Sequence[Turn]) -> Iterator[tuple[Turn, Tally]]:
    """Of each of the conversation's turns that has asked a model. Reads the database, in five queries."""
    steps = defaultdict[int, list[Step]](list)
    for step in Step.objects.filter(turn__conversation=conversation).order_by("turn", "number"):
        steps[step.turn_id].append(step)
    planned = _planned(conversation)
    called = set(ToolCall.objects.filter(turn__conversation=conversation).values_list("turn", flat=True))
    for turn in turns:
        if turn.pk in steps:
            yield turn, _tally(turn, steps[turn.pk], planned, offered=turn.pk in called)


def _planned(conversation: Conversation) -> dict[int, Planned]:
    """The steps that planned, by key."""
    lists = Exists(ToolCall.objects.filter(step=OuterRef("step"), name=TODO_WRITE))
    calls = defaultdict[int, list[ToolCall]](list)
    rows = ToolCall.objects.filter(lists, turn__conversation=conversation)
    for call in rows.only("step", "name", "arguments", "status"):
        calls[call.step_id].append(call)
    refused = rows.filter(name=TODO_WRITE, status=ToolCall.Status.FAILED)
    told = defaultdict[int, list[str]](list)
    for step, output in refused.values_list("step", "output"):
        told[step].append(output)
    texts = Message.objects.filter(lists, turn__conversation=conversation, role=Message.Role.ASSISTANT)
    said = {message.step_id: message for message in texts}
    return {pk: Planned(each, said.get(pk), told[pk]) for pk, each in calls.items()}


def _tally(turn: Turn, steps: Sequence[Step], planned: Mapping[int, Planned], *, offered: bool) -> Tally:
    tally = Tally(Counter(turns=1, steps=len(steps)))
    for step in steps:
        only_planned = step.pk in planned and planned[step.pk].nothing_else
        tally.counts.update(
            input_tokens=step.input_tokens,
            output_tokens=step.output_tokens,
            estimated_steps=int(step.estimated),
            offering_tokens=offering_tokens(turn) if offered and not only_planned else 0,
        )
        if step.pk in planned:
            tally.add(_of_step(step, planned[step.pk]))
    writing = {step.number for step in steps if step.pk in planned}
    reminded = [step.number for step in steps if step.reminder]
    followed = sum(not writing.isdisjoint((number, number + 1)) for number in reminded)
    tally.counts.update(reminders=len(reminded), followed=followed)
    return tally


def _of_step(step: Step, planned: Planned) -> Tally:
    accepted = [call for call in planned.lists if call.status == ToolCall.Status.SUCCEEDED]
    counts = Counter(
        writes=len(planned.refusals) + len(accepted),
        refused=len(planned.refusals),
        written_tokens=written_tokens(step, planned.calls, planned.said),
        estimated_writes=int(step.estimated),
    )
    if planned.nothing_else:
        counts.update(
            planning_steps=1,
            planning_input_tokens=step.input_tokens,
            planning_cached_tokens=step.cached_tokens,
        )
    return Tally(counts, Counter(map(reason_of, planned.refusals)))
