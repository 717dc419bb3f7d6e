"""A walk along a plan's part of the story, which sorts what happened by the items that it counts for."""

from __future__ import annotations

import datetime
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from chat.models import Step, ToolCall, Turn
from chat.plan.span import Span
from chat.plan.story import Calls, Entry, Revision, TurnBegan, TurnEnded


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
