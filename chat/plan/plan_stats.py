"""Plan statistics of a conversation, counted from its rows. docs/plans.md defines each figure."""

from __future__ import annotations

import dataclasses
import datetime
import math
import uuid
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import cast

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from chat.agent.meter import text_tokens, tools_tokens
from chat.agent.prompts import Language, text
from chat.agent.todo import TodoList, as_policy, todo_tool
from chat.agent.tool import REFUSAL
from chat.models import Conversation, Message, PlanCount, PlanFigures, Reader, Step, ToolCall, Turn
from chat.models.plan_stats import VERSION
from chat.models.tool_call import TODO_WRITE
from chat.plan.evidence import Evidence, evidence_of
from chat.plan.history import Plan, plans_of

OTHER = "other"  # of refusals without a code
Key = tuple[datetime.date, str, str]  # day, profile, policy


def count_behind(conversations: QuerySet[Conversation], limit: int) -> int:
    """Count up to `limit` outdated conversations, the most recently active first; returns how many remain."""
    outdated = list(PlanCount.outdated(conversations).order_by("-updated_at").values_list("pk", flat=True))
    for pk in outdated[:limit]:
        count(pk)
    return len(outdated[limit:])


def count(conversation_id: uuid.UUID) -> None:
    """Recount the conversation's figures from its rows, if they are outdated.

    Always counts everything, so earlier errors are corrected. Rows that are added meanwhile leave the figures
    outdated.
    """
    own = Conversation.objects.filter(pk=conversation_id)
    versions = PlanCount.outdated(own).values_list("latest_turn", "latest_revision").first()
    conversation = own.first() if versions else None
    if versions is None or conversation is None:
        return
    rows = figures_of(conversation)  # outside the transaction, which blocks all other writers of SQLite
    turn, revision = versions
    with transaction.atomic():
        # The lock serialises counts and keeps the conversation from being deleted.
        if not own.select_for_update(no_key=True).first() or PlanCount.is_past(
            conversation_id, turn, revision
        ):
            return
        PlanFigures.objects.filter(conversation=conversation).delete()
        PlanFigures.objects.bulk_create(rows)
        reached = {"turn": turn, "revision": revision, "version": VERSION}
        PlanCount.objects.update_or_create(conversation_id=conversation_id, defaults=reached)


def figures_of(conversation: Conversation) -> list[PlanFigures]:
    """The unsaved figures up to the latest ended turn, without imported ones. Reads the database."""
    own = conversation.turns.exclude(status__in=Turn.ACTIVE).exclude(profile_snapshot={})
    if conversation.imported_at:
        own = own.filter(created_at__gt=conversation.imported_at)
    turns = list(own.order_by("pk"))
    reader = Reader.of(conversation.owner)
    ended = {turn.pk: turn for turn in turns}
    tallies = defaultdict[Key, Tally](Tally)
    for turn, tally in turn_tallies(conversation, turns):
        tallies[_key(turn, reader)].add(tally)
    for plan in plans_of(conversation):
        if ended_plan := _until_ended(plan, ended):
            tallies[_key(ended[ended_plan.revisions[0].turn.pk], reader)].add(outcome_of(ended_plan))
    return [_row(conversation, key, tally) for key, tally in tallies.items()]


def _until_ended(plan: Plan, ended: Container[int]) -> Plan | None:
    """The plan without entries of active turns; None if it has had no item by then."""
    entries = [entry for entry in plan.entries if entry.turn.pk in ended]
    next_list = plan.followed_by if plan.followed_by and plan.followed_by.turn.pk in ended else None
    ended_plan = Plan(plan.number, entries, next_list)
    return ended_plan if any(revision.row.items for revision in ended_plan.revisions) else None


def _key(turn: Turn, reader: Reader) -> Key:
    snapshot = turn.profile_snapshot
    day = reader.day_of(turn.started_at or turn.created_at)
    return day, snapshot.get("title", ""), snapshot.get("todo_policy", "")


def _row(conversation: Conversation, key: Key, tally: Tally) -> PlanFigures:
    day, profile, policy = key
    return PlanFigures(
        conversation=conversation,
        owner_id=conversation.owner_id,
        day=day,
        profile=profile,
        policy=policy,
        reasons=dict(tally.reasons),
        seconds=tally.seconds,
        **tally.counts,
    )


def outcome_of(plan: Plan) -> Tally:
    """The tally of a plan that has had an item and whose turns have ended.

    An emptied list counts by its last items: finished if all were completed, else given up.
    """
    last = [revision for revision in plan.revisions if revision.row.items][-1]
    finished = last.row.done == last.row.total
    evidence = evidence_of(plan)
    completed = [item["id"] for item in last.row.items if item["status"] == "completed"]
    completed_evidence = [evidence[item] for item in completed if item in evidence]
    ticked = sum(each.by_person for each in completed_evidence)
    seconds = [_seconds(each) for each in completed_evidence if each.spans and not each.by_person]
    counts = Counter(
        lists=1,
        finished=int(finished),
        finished_together=int(finished and ticked > 0),
        given_up=int(not finished and last is not plan.latest),
        items=last.row.total,
        completed=last.row.done,
        ticked=ticked,
        skipped=sum(line.skipped for line in plan.latest.lines),
        timed=len(seconds),
    )
    return Tally(counts, seconds=seconds)


def _seconds(evidence: Evidence) -> float:
    """The item's seconds; items completed by the same list share the time equally."""
    return round(evidence.seconds / (1 + evidence.shared_with), 3)


def written_tokens(step: Step, calls: Iterable[ToolCall], message: Message | None) -> int:
    """The step's output tokens spent on writing lists.

    Takes the output without separately counted reasoning, in proportion to bytes: the names and arguments of
    TodoWrite calls against everything received, which is text, all calls, and reasoning that was sent but not
    counted separately.
    """
    sizes = [(call.is_todo_write, _bytes(call.name, call.arguments)) for call in calls]
    lists = sum(size for is_list, size in sizes if is_list)
    others = sum(size for is_list, size in sizes if not is_list)
    if message:
        others += _bytes(message.text, "" if step.reasoning_tokens else message.reasoning)
    output = max(0, step.output_tokens - step.reasoning_tokens)
    return round(output * lists / (lists + others)) if lists else 0


def offering_tokens(turn: Turn) -> int:
    """The estimated tokens in each request that offer planning: the tool and its instructions."""
    snapshot = turn.profile_snapshot
    language = cast(Language, snapshot.get("language") or "en")
    return _offering_tokens(
        snapshot.get("todo_policy") or "focused", language, snapshot.get("max_todos") or 20
    )


@cache
def _offering_tokens(policy: str, language: Language, max_items: int) -> int:
    rules = dataclasses.replace(as_policy(policy), max_items=max_items)
    tool = todo_tool(TodoList(rules, language=language))
    return tools_tokens([tool.definition()]) + text_tokens(text(f"planning.{policy}", language).template)


def _bytes(*texts: str) -> int:
    return sum(len(each.encode()) for each in texts)


@dataclass
class Tally:
    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.counts.update(other.counts)
        self.reasons.update(other.reasons)
        self.seconds += other.seconds


@dataclass(frozen=True)
class PlanningStep:
    """A step that called TodoWrite: all its calls, its message, and why lists were refused."""

    calls: Sequence[ToolCall]
    message: Message | None
    refusals: Sequence[str]

    @property
    def lists(self) -> list[ToolCall]:
        return [call for call in self.calls if call.is_todo_write]

    @property
    def only_planned(self) -> bool:
        return len(self.lists) == len(self.calls)


def turn_tallies(conversation: Conversation, turns: Sequence[Turn]) -> Iterator[tuple[Turn, Tally]]:
    """Yield the tally of each turn that called a model. Reads the database in five queries."""
    steps = defaultdict[int, list[Step]](list)
    for step in Step.objects.filter(turn__conversation=conversation).order_by("turn", "number"):
        steps[step.turn_id].append(step)
    planning_steps = _planning_steps(conversation)
    turns_with_calls = set(
        ToolCall.objects.filter(turn__conversation=conversation).values_list("turn", flat=True)
    )
    for turn in turns:
        if turn.pk in steps:
            yield turn, _tally(turn, steps[turn.pk], planning_steps, offered=turn.pk in turns_with_calls)


def _planning_steps(conversation: Conversation) -> dict[int, PlanningStep]:
    lists = Exists(ToolCall.objects.filter(step=OuterRef("step"), name=TODO_WRITE))
    calls = defaultdict[int, list[ToolCall]](list)
    rows = ToolCall.objects.filter(lists, turn__conversation=conversation)
    for call in rows.only("step", "name", "arguments", "status"):
        calls[call.step_id].append(call)
    refused = rows.filter(name=TODO_WRITE, status=ToolCall.Status.FAILED)
    refusals = defaultdict[int, list[str]](list)
    for step, detail in refused.values_list("step", "detail"):
        refusals[step].append(str(detail.get(REFUSAL) or OTHER))
    texts = Message.objects.filter(lists, turn__conversation=conversation, role=Message.Role.ASSISTANT)
    messages = {message.step_id: message for message in texts}
    return {pk: PlanningStep(each, messages.get(pk), refusals[pk]) for pk, each in calls.items()}


def _tally(
    turn: Turn, steps: Sequence[Step], planning: Mapping[int, PlanningStep], *, offered: bool
) -> Tally:
    tally = Tally(Counter(turns=1, steps=len(steps)))
    for step in steps:
        only_planned = step.pk in planning and planning[step.pk].only_planned
        tally.counts.update(
            input_tokens=step.input_tokens,
            output_tokens=step.output_tokens,
            estimated_steps=int(step.estimated),
            offering_tokens=offering_tokens(turn) if offered and not only_planned else 0,
        )
        if step.pk in planning:
            tally.add(_step_tally(step, planning[step.pk]))
    writing_steps = {step.number for step in steps if step.pk in planning}
    reminded = [step.number for step in steps if step.reminder]
    followed = sum(not writing_steps.isdisjoint((number, number + 1)) for number in reminded)
    tally.counts.update(reminders=len(reminded), followed=followed)
    return tally


def _step_tally(step: Step, step_calls: PlanningStep) -> Tally:
    accepted = [call for call in step_calls.lists if call.status == ToolCall.Status.SUCCEEDED]
    counts = Counter(
        writes=len(step_calls.refusals) + len(accepted),
        refused=len(step_calls.refusals),
        written_tokens=written_tokens(step, step_calls.calls, step_calls.message),
        estimated_writes=int(step.estimated),
    )
    if step_calls.only_planned:
        counts.update(
            planning_steps=1,
            planning_input_tokens=step.input_tokens,
            planning_cached_tokens=step.cached_tokens,
        )
    return Tally(counts, Counter(step_calls.refusals))


ENOUGH = 5  # with fewer, counts are shown instead of percentages
_Z = 1.959964  # 95 % of a normal distribution lie within this many standard deviations


@dataclass(frozen=True)
class Share:
    part: int
    whole: int

    @property
    def is_enough(self) -> bool:
        return self.whole >= ENOUGH

    @property
    def percent(self) -> float:
        return 100 * self.part / self.whole if self.whole else 0.0

    @property
    def low(self) -> float:
        return self._interval[0]

    @property
    def high(self) -> float:
        return self._interval[1]

    @cached_property
    def _interval(self) -> tuple[float, float]:
        """The 95 % Wilson score interval (1927) in percent, accurate for few items and extreme shares."""
        if not self.whole:
            return 0.0, 100.0
        rate, square = self.part / self.whole, _Z * _Z / self.whole
        middle = (rate + square / 2) / (1 + square)
        spread = _Z * math.sqrt(rate * (1 - rate) / self.whole + square / self.whole / 4) / (1 + square)
        return 100 * max(0.0, middle - spread), 100 * min(1.0, middle + spread)
