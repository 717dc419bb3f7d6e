"""Evidence: what was done for an item of a plan, read from the rows and never stored.

What counts for an item are its **spans**, each a stretch of one turn:

- A span begins at the accepted list that says the item is in progress, and ends at the list that says
  otherwise, at the person's own change of it, or with the turn. Where a later turn goes on with the plan and
  finds the item still in progress, another span begins with that turn.
- An item that is ticked without having been in progress, as every item is under `lean`, has what the agent
  did since it last ticked another: back to the plan's first list, or for an item that was done already when
  that was written, to the beginning of the turn. Several that one list ticks share it.
- A step belongs to the spans in which it began, so the step that writes a list belongs to the item which the
  list ends, and the calls that follow the list in the same step to the item which it begins.
- Lists themselves, be they accepted or refused, are no evidence; their steps took tokens all the same.
- An item that is removed keeps what it has.

Work in turns after the plan's last list counts for nothing: nobody said that it was for the plan.

A call is **recorded action** if its tool began to work, whatever came of it. One that was denied, or stopped
before it ran, is shown and is none. A file counts as changed if `write_file` or `edit_file` succeeded on it,
or if it was another after a command than before. Time is that of a clock on the wall while the turn went on,
without what it waited for the person's answers, which is told apart.
"""

from __future__ import annotations

import datetime
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from django.utils import timezone

from chat.agent.workspace import WorkspaceError, relative
from chat.models import Step, ToolCall, Turn
from chat.models.usage import Totals
from chat.plan.history import Plan
from chat.plan.timeline import Calls, Entry, Revision, TurnBegan, TurnEnded


@dataclass(frozen=True)
class Evidence:
    """What one item has to show, until the moment `now`."""

    trace: Trace
    now: datetime.datetime

    @property
    def spans(self) -> Sequence[Span]:
        """Its spans, oldest first."""
        return self.trace.spans

    @cached_property
    def calls(self) -> list[ToolCall]:
        """The tool calls, oldest first, those that did not run among them."""
        return list({call.pk: call for span in self.spans for call in span.calls}.values())

    @cached_property
    def steps(self) -> list[Step]:
        """The steps that began, oldest first."""
        return list({step.pk: step for span in self.spans for step in span.steps}.values())

    @cached_property
    def files_written(self) -> list[str]:
        """The files that its calls name and have written, beneath the workspace, each once, oldest first."""
        return list(dict.fromkeys(path for call in self.calls if (path := _beneath(call.file_written))))

    @cached_property
    def files(self) -> list[str]:
        """These and the files that its commands changed, as far as they are named."""
        changed = [path for call in self.calls for path in call.command_changed]
        return list(dict.fromkeys([*self.files_written, *changed]))

    @cached_property
    def more_files(self) -> int:
        """How many more it changed at least: two commands' unnamed files may be the same."""
        most = max((_changed_by(call) for call in self.calls), default=0)
        return max(0, most - len(self.files))

    @property
    def files_are_more(self) -> bool:
        """Whether a command changed more files than are named."""
        return any(call.command_changed_more for call in self.calls)

    @property
    def files_counted(self) -> int:
        """How many files it changed at least."""
        return len(self.files) + self.more_files

    @cached_property
    def totals(self) -> Totals:
        """What its steps took."""
        return Totals.of(self.steps)

    @cached_property
    def waited(self) -> float:
        """Seconds for which its calls waited for the person's answer."""
        return sum(_waited(call, self.now) for call in self.calls)

    @cached_property
    def seconds(self) -> float:
        """Seconds that it took, without those."""
        return max(0.0, seconds_of(self.spans, self.now) - self.waited)

    @property
    def shared_with(self) -> int:
        """How many other items were ticked together with it and have the same."""
        return self.trace.neighbours

    @property
    def by_person(self) -> bool:
        """Whether it was the person who ticked it."""
        return self.trace.ticked and self.trace.by_person

    @property
    def is_bare(self) -> bool:
        """Whether the agent ticked it and there is no recorded action."""
        return self.trace.ticked and not self.by_person and not any(call.ran for call in self.calls)

    @property
    def place(self) -> str:
        """The id, in the transcript, of where its work begins; empty for one that was never begun."""
        if not self.spans:
            return ""
        first = self.spans[0]
        row = first.write or next(iter(first.calls), None)
        return row.dom_id if row else f"turn-{first.turn.pk}"


def evidence_of(
    plan: Plan, until: Revision | None = None, now: datetime.datetime | None = None
) -> Mapping[str, Evidence]:
    """The evidence of a plan's items by their ids; of those that have any, or were ticked.

    With `until`, a revision of the plan, as it was before the list was written again. `now` is for work that
    goes on.
    """
    moment = now or timezone.now()
    entries, following = plan.while_it_stood(until) if until else (plan.entries, plan.followed_by)
    traces = Walk().along(entries, following)
    return {item: Evidence(trace, moment) for item, trace in traces.items()}


def item_of(evidence: Mapping[str, Evidence], call: int | None) -> str:
    """The item that the call of that key counts for, the first of several; empty for none."""
    found = (item for item, each in evidence.items() if any(known.pk == call for known in each.calls))
    return next(found, "")


def _changed_by(call: ToolCall) -> int:
    return len(call.command_changed) + call.command_changed_more


def _beneath(path: str) -> str:
    try:
        return relative(path) if path else ""
    except WorkspaceError:
        return ""


def _waited(call: ToolCall, now: datetime.datetime) -> float:
    if call.status == ToolCall.Status.WAITING and call.asked_at:
        return max(0.0, (now - call.asked_at).total_seconds())
    return call.waited


@dataclass
class Trace:
    """What was found for an item: its spans, and who ticked it last, if anybody did.

    `neighbours` are the other items that were ticked by the same list, and whose work its spans hold too.
    """

    spans: list[Span] = field(default_factory=list)
    neighbours: int = 0
    ticked: bool = False
    by_person: bool = False


class Walk:
    """Goes from entry to entry; methods stand in the order of what they deal with."""

    def __init__(self) -> None:
        self.traces: dict[str, Trace] = defaultdict(Trace)
        self.states: Mapping[str, str] | None = None  # of the items, in the list as it stands
        self.turn: Turn | None = None  # while it goes on
        self.steps: deque[Step] = deque()  # of the turn, not begun yet
        self.at_work: dict[str, Span] = {}  # of items in progress
        self.since_tick: list[Span] = []  # what the agent did since it last ticked an item

    def along(self, entries: Iterable[Entry], until: Revision | None = None) -> dict[str, Trace]:
        """The items' traces by their ids. `until` is the list that begins another plan in the last turn."""
        for entry in entries:
            match entry:
                case TurnBegan(turn):
                    self._begin(turn)
                case Calls():
                    self._work(entry.calls)
                case Revision():
                    self._revise(entry)
                case TurnEnded(turn):
                    self._begin_steps()
                    self._leave(turn.ended_at)
        self._begin_steps(until)
        if until:
            self._leave(until.row.created_at)
        return self.traces

    def _begin(self, turn: Turn) -> None:
        self.turn, self.steps = turn, deque(turn.steps.all())
        self.since_tick.append(Span(turn, turn.started_at))
        for item, state in (self.states or {}).items():
            if state == "in_progress":
                self._take_up(item, Span(turn, turn.started_at))

    def _take_up(self, item: str, span: Span) -> None:
        self.at_work[item] = span
        self.traces[item].spans.append(span)

    def _work(self, calls: Iterable[ToolCall]) -> None:
        for call in calls:
            while self.steps and self.steps[0].number <= call.step.number:
                self._begin_step()
            if not call.is_todo_write:
                for span in self._open():
                    span.calls.append(call)

    def _begin_steps(self, until: Revision | None = None) -> None:
        while self.steps and (until is None or _is_ahead(self.steps[0], until)):
            self._begin_step()

    def _begin_step(self) -> None:
        step = self.steps.popleft()
        for span in self._open():
            span.steps.append(step)

    def _open(self) -> list[Span]:
        latest = self.since_tick[-1:]
        return [span for span in (*self.at_work.values(), *latest) if span.ended is None]

    def _revise(self, revision: Revision) -> None:
        if self.turn is None and not revision.row.afterwards:  # a plan that begins in the middle of a turn
            self.turn, self.steps = revision.turn, deque(revision.turn.steps.all())
        self._begin_steps(revision)
        states = {item["id"]: item["status"] for item in revision.row.items}
        before = self.states or {}
        self._tick(revision, [item for item in states if states[item] == "completed" != before.get(item)])
        for item in [item for item in self.at_work if states.get(item) != "in_progress"]:
            self.at_work.pop(item).ended = revision.row.created_at
        for item, state in states.items():
            if self.turn and state == "in_progress" and item not in self.at_work:
                self._take_up(item, Span(self.turn, revision.row.created_at, revision.row.tool_call))
        self.states = states

    def _tick(self, revision: Revision, items: list[str]) -> None:
        persons = revision.row.is_the_persons
        for item in items:
            trace = self.traces[item]
            trace.ticked, trace.by_person = True, persons
        agents = [] if persons else items
        if agents or self.states is None:
            self._part(agents, revision)

    def _part(self, ticked: list[str], revision: Revision) -> None:
        """Give what was done since the last tick to items that were ticked without being in progress."""
        for span in self.since_tick[-1:]:
            span.ended = revision.row.created_at
        for item in ticked:
            if item not in self.at_work:
                self.traces[item].spans += self.since_tick
                self.traces[item].neighbours = len(ticked) - 1
        row = revision.row
        self.since_tick = [Span(self.turn, row.created_at, row.tool_call)] if self.turn else []

    def _leave(self, moment: datetime.datetime | None) -> None:
        """The turn, or the plan's part of it, is over: nobody works on anything."""
        for span in self._open():
            span.ended = moment
        self.at_work, self.turn = {}, None


def _is_ahead(step: Step, revision: Revision) -> bool:
    """Whether the step began before the list was written; the one that wrote it did."""
    call = revision.row.tool_call
    return step.number <= call.step.number if call else step.started_at <= revision.row.created_at


@dataclass
class Span:
    """What happened in a turn from `write`, or from the turn's beginning where that is None, to `ended`.

    `ended` is None while it goes on, and `began` where no worker has begun with the turn. Of tool calls it
    has those that are work: no lists, be they accepted or refused.
    """

    turn: Turn
    began: datetime.datetime | None
    write: ToolCall | None = None
    ended: datetime.datetime | None = None
    steps: list[Step] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)


def seconds_of(spans: Iterable[Span], now: datetime.datetime) -> float:
    """How long the spans lasted until `now`, where they overlap counted once; backward clocks count 0."""
    seconds, until = 0.0, None
    for began, ended in sorted((span.began, span.ended or now) for span in spans if span.began):
        start = began if until is None else max(began, until)
        seconds += max(0.0, (ended - start).total_seconds())
        until = ended if until is None else max(until, ended)
    return seconds
