"""What the plans of a conversation came to, counted from its rows. docs/plans.md defines each figure."""

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
from django.utils import timezone

from chat.agent.meter import text_tokens, tools_tokens
from chat.agent.prompts import Language, text
from chat.agent.todo import TodoList, as_policy, refusal_code, todo_tool
from chat.models import Conversation, Message, PlanCount, PlanFigures, Step, ToolCall, Turn
from chat.models.plan_stats import VERSION
from chat.models.tool_call import TODO_WRITE
from chat.plan.evidence import Evidence, evidence_of
from chat.plan.history import Plan, plans_of

Key = tuple[datetime.date, str, str]  # day, profile, policy


def count_behind(conversations: QuerySet[Conversation], most: int) -> int:
    """Count of those that are behind the ones that moved last, `most` of them; gives how many are left."""
    behind = list(PlanCount.behind(conversations).order_by("-updated_at").values_list("pk", flat=True))
    for pk in behind[:most]:
        count(pk)
    return len(behind[most:])


def count(conversation_id: uuid.UUID) -> None:
    """Write the conversation's figures anew, as its rows have them; nothing where none are behind.

    They are counted whole, so that whatever was missed before is put right. What comes while this reads
    leaves them behind again.
    """
    own = Conversation.objects.filter(pk=conversation_id)
    behind = PlanCount.behind(own).values_list("latest_turn", "latest_revision").first()
    conversation = own.first() if behind else None
    if behind is None or conversation is None:
        return
    rows = figures_of(conversation)  # outside the transaction: SQLite would let nobody else write meanwhile
    turn, revision = behind
    with transaction.atomic():
        # One at a time for a conversation; that also keeps it from being deleted meanwhile.
        if not own.select_for_update(no_key=True).first() or PlanCount.is_past(
            conversation_id, turn, revision
        ):
            return
        PlanFigures.objects.filter(conversation=conversation).delete()
        PlanFigures.objects.bulk_create(rows)
        reached = {"turn": turn, "revision": revision, "version": VERSION}
        PlanCount.objects.update_or_create(conversation_id=conversation_id, defaults=reached)


def figures_of(conversation: Conversation) -> list[PlanFigures]:
    """The figures up to the latest turn that has ended, unsaved. Reads the database."""
    turns = list(
        conversation.turns.exclude(status__in=Turn.ACTIVE).exclude(profile_snapshot={}).order_by("pk")
    )
    ended = {turn.pk: turn for turn in turns}
    tallies = defaultdict[Key, Tally](Tally)
    for turn, tally in turn_tallies(conversation, turns):
        tallies[_key(turn)].add(tally)
    for plan in plans_of(conversation):
        if as_ended := _until_ended(plan, ended):
            tallies[_key(ended[as_ended.revisions[0].turn.pk])].add(outcome_of(as_ended))
    return [_row(conversation, key, tally) for key, tally in tallies.items()]


def _until_ended(plan: Plan, ended: Container[int]) -> Plan | None:
    """The plan without what belongs to a turn that goes on; None where it has had no item by then."""
    entries = [entry for entry in plan.entries if entry.turn.pk in ended]
    following = plan.followed_by if plan.followed_by and plan.followed_by.turn.pk in ended else None
    known = Plan(plan.number, entries, following)
    return known if any(revision.row.items for revision in known.revisions) else None


def _key(turn: Turn) -> Key:
    began = turn.started_at or turn.created_at
    then = turn.profile_snapshot
    day = timezone.localdate(began, timezone=timezone.get_default_timezone())
    return day, then.get("title", ""), then.get("todo_policy", "")


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
    """The tally of a plan that nobody works on, and that has had an item.

    A list that was emptied counts by what it was before: it is finished if all of that was, else given up.
    """
    last = [revision for revision in plan.revisions if revision.row.items][-1]
    finished = last.row.done == last.row.total
    evidence = evidence_of(plan)
    done = [item["id"] for item in last.row.items if item["status"] == "completed"]
    known = [evidence[item] for item in done if item in evidence]
    ticked = sum(each.by_person for each in known)
    seconds = [_seconds(each) for each in known if each.spans and not each.by_person]
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
    """What the item took; those that one list ticked together share their time equally."""
    return round(evidence.seconds / (1 + evidence.shared_with), 3)


def written_tokens(step: Step, calls: Iterable[ToolCall], said: Message | None) -> int:
    """The output tokens with which the step wrote its lists.

    Of its output without the reasoning that the endpoint counts apart, the part that names and arguments of
    its TodoWrite calls have of the bytes that came: text, names and arguments of all calls, and reasoning
    that was sent and not counted apart.
    """
    sizes = [(call.is_todo_write, _bytes(call.name, call.arguments)) for call in calls]
    lists = sum(size for is_list, size in sizes if is_list)
    rest = sum(size for is_list, size in sizes if not is_list)
    if said:
        rest += _bytes(said.text, "" if step.reasoning_tokens else said.reasoning)
    told = max(0, step.output_tokens - step.reasoning_tokens)
    return round(told * lists / (lists + rest)) if lists else 0


def offering_tokens(turn: Turn) -> int:
    """About how many tokens of every request of the turn offer planning: the tool, and how to go about it."""
    then = turn.profile_snapshot
    language = cast(Language, then.get("language") or "en")
    return _offering_tokens(then.get("todo_policy") or "focused", language, then.get("max_todos") or 20)


@cache
def _offering_tokens(policy: str, language: Language, most: int) -> int:
    rules = dataclasses.replace(as_policy(policy), max_items=most)
    tool = todo_tool(TodoList(rules, language=language))
    return tools_tokens([tool.definition()]) + text_tokens(text(f"planning.{policy}", language).template)


def _bytes(*texts: str) -> int:
    return sum(len(each.encode()) for each in texts)


@dataclass
class Tally:
    """Counts, refused lists by reason, and the seconds that each timed item took."""

    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take the other's figures in."""
        self.counts.update(other.counts)
        self.reasons.update(other.reasons)
        self.seconds += other.seconds


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
    return Tally(counts, Counter(map(refusal_code, planned.refusals)))


ENOUGH = 5  # below it a share is a count and no percentage
_Z = 1.959964  # of a normal distribution: 95 % lie within so many standard deviations


@dataclass(frozen=True)
class Share:
    """So many of so many."""

    part: int
    whole: int

    @property
    def is_enough(self) -> bool:
        """Whether there are enough for a percentage to say something."""
        return self.whole >= ENOUGH

    @property
    def percent(self) -> float:
        """The percentage; 0 of nothing."""
        return 100 * self.part / self.whole if self.whole else 0.0

    @property
    def low(self) -> float:
        """The lower end of the interval, in percent."""
        return self._interval[0]

    @property
    def high(self) -> float:
        """The upper end of the interval, in percent."""
        return self._interval[1]

    @cached_property
    def _interval(self) -> tuple[float, float]:
        """The 95 % interval by Wilson (1927), in percent: honest also for few, and near none and all."""
        if not self.whole:
            return 0.0, 100.0
        rate, square = self.part / self.whole, _Z * _Z / self.whole
        middle = (rate + square / 2) / (1 + square)
        spread = _Z * math.sqrt(rate * (1 - rate) / self.whole + square / self.whole / 4) / (1 + square)
        return 100 * max(0.0, middle - spread), 100 * min(1.0, middle + spread)
