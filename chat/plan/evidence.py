"""Evidence of the work on each item of a plan. Computed from the rows, never stored.

The evidence of an item consists of **spans**, each a stretch of one turn:

- A span starts at the accepted list that sets the item in progress, and ends at the list that changes this,
  at the user's own change of it, or with the turn. If a later turn continues the plan with the item still in
  progress, another span starts with that turn.
- An item that is completed without having been in progress, as all are under `lean`, gets the work since the
  agent last completed another: back to the plan's first list, or to the start of the turn if it was already
  completed in the first list. Items that one list completes share it.
- A step belongs to the spans that are open when it starts. So the step that writes a list belongs to the item
  that the list ends, and later calls of that step to the item that it starts.
- Todo writes, accepted or refused, are not evidence, but their steps' tokens count.
- A removed item keeps its evidence, also who completed it if the removal is undone.

Only work in the turns that the plan covers counts, see `plans_of`: nothing ties other work to the plan.

A call is a **recorded action** if its tool started to run, whatever the result. A call that was denied, or
stopped before it ran, is shown but does not count. A file counts as changed if `write_file` or `edit_file`
succeeded on it, or if a command changed it. Time is wall-clock time during the turn without waiting for
approvals, which is reported separately.
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
    work: ItemWork
    now: datetime.datetime

    @property
    def spans(self) -> Sequence[Span]:
        return self.work.spans

    @cached_property
    def calls(self) -> list[ToolCall]:
        return list({call.pk: call for span in self.spans for call in span.calls}.values())

    @cached_property
    def steps(self) -> list[Step]:
        return list({step.pk: step for span in self.spans for step in span.steps}.values())

    @cached_property
    def files_written(self) -> list[str]:
        return list(
            dict.fromkeys(path for call in self.calls if (path := _workspace_path(call.file_written)))
        )

    @cached_property
    def files(self) -> list[str]:
        """These and the files that its commands changed, as far as their names are recorded."""
        changed = [path for call in self.calls for path in call.command_changed]
        return list(dict.fromkeys([*self.files_written, *changed]))

    @cached_property
    def more_files(self) -> int:
        """A lower bound of further changed files: unnamed files of two commands may be the same."""
        largest = max((_changed_by(call) for call in self.calls), default=0)
        return max(0, largest - len(self.files))

    @property
    def files_are_more(self) -> bool:
        return any(call.command_changed_more for call in self.calls)

    @property
    def files_counted(self) -> int:
        return len(self.files) + self.more_files

    @cached_property
    def totals(self) -> Totals:
        return Totals.of(self.steps)

    @cached_property
    def waited(self) -> float:
        return sum(_waited(call, self.now) for call in self.calls)

    @cached_property
    def seconds(self) -> float:
        return max(0.0, seconds_of(self.spans, self.now) - self.waited)

    @property
    def shared_with(self) -> int:
        """How many other items were completed by the same list and share its spans."""
        return self.work.neighbours

    @property
    def by_person(self) -> bool:
        return self.work.completed and self.work.by_person

    @property
    def is_bare(self) -> bool:
        """Whether the agent completed it without any recorded action."""
        return self.work.completed and not self.by_person and not any(call.ran for call in self.calls)

    @property
    def place(self) -> str:
        """The DOM id of the row at which its latest work starts; "" if it has none.

        That is the list that last set it in progress, since an item can be reset and worked on again.
        """
        if not self.spans:
            return ""
        start = next((span for span in reversed(self.spans) if span.write), self.spans[0])
        row = start.write or next(iter(start.calls), None)
        return row.dom_id if row else f"turn-{start.turn.pk}"


def evidence_of(
    plan: Plan, until: Revision | None = None, now: datetime.datetime | None = None
) -> Mapping[str, Evidence]:
    """The evidence by item id, of items that have any or are completed.

    With `until`, a revision of the plan: the state before the next list. `now` is the end of open spans.
    """
    end = now or timezone.now()
    entries, next_list = plan.entries_until_next(until) if until else (plan.entries, plan.followed_by)
    works = EvidenceBuilder().build(entries, next_list)
    return {item: Evidence(work, end) for item, work in works.items()}


def item_of(evidence: Mapping[str, Evidence], call: int | None) -> str:
    """The first item that the call with this key counts for; "" if none."""
    items = (item for item, each in evidence.items() if any(row.pk == call for row in each.calls))
    return next(items, "")


def _changed_by(call: ToolCall) -> int:
    return len(call.command_changed) + call.command_changed_more


def _workspace_path(path: str) -> str:
    try:
        return relative(path) if path else ""
    except WorkspaceError:
        return ""


def _waited(call: ToolCall, now: datetime.datetime) -> float:
    if call.status == ToolCall.Status.WAITING and call.asked_at:
        return max(0.0, (now - call.asked_at).total_seconds())
    return call.waited


@dataclass
class ItemWork:
    """The spans of an item, and who completed it last.

    `neighbours` is the number of other items that were completed by the same list and share the spans.
    """

    spans: list[Span] = field(default_factory=list)
    neighbours: int = 0
    completed: bool = False
    by_person: bool = False


class EvidenceBuilder:
    def __init__(self) -> None:
        self.works: dict[str, ItemWork] = defaultdict(ItemWork)
        self.states: Mapping[str, str] | None = None  # status by item in the current list
        self.turn: Turn | None = None  # the turn in progress
        self.steps: deque[Step] = deque()  # of the turn, not started yet
        self.in_progress: dict[str, Span] = {}  # by item
        self.since_completion: list[Span] = []  # work since the agent last completed an item

    def build(self, entries: Iterable[Entry], until: Revision | None = None) -> dict[str, ItemWork]:
        """The work by item id. `until` is the first list of the next plan, if it is in the last turn."""
        for entry in entries:
            match entry:
                case TurnBegan(turn):
                    self._start_turn(turn)
                case Calls():
                    self._add_calls(entry.calls)
                case Revision():
                    self._add_revision(entry)
                case TurnEnded(turn):
                    self._start_steps()
                    self._end_turn(turn.ended_at)
        self._start_steps(until)
        if until:
            self._end_turn(until.row.created_at)
        return self.works

    def _start_turn(self, turn: Turn) -> None:
        self.turn, self.steps = turn, deque(turn.steps.all())
        self.since_completion.append(Span(turn, turn.started_at))
        for item, state in (self.states or {}).items():
            if state == "in_progress":
                self._open_span(item, Span(turn, turn.started_at))

    def _open_span(self, item: str, span: Span) -> None:
        self.in_progress[item] = span
        self.works[item].spans.append(span)

    def _add_calls(self, calls: Iterable[ToolCall]) -> None:
        for call in calls:
            while self.steps and self.steps[0].number <= call.step.number:
                self._start_step()
            if not call.is_todo_write:
                for span in self._open_spans():
                    span.calls.append(call)

    def _start_steps(self, until: Revision | None = None) -> None:
        while self.steps and (until is None or _starts_before(self.steps[0], until)):
            self._start_step()

    def _start_step(self) -> None:
        step = self.steps.popleft()
        for span in self._open_spans():
            span.steps.append(step)

    def _open_spans(self) -> list[Span]:
        latest = self.since_completion[-1:]
        return [span for span in (*self.in_progress.values(), *latest) if span.ended is None]

    def _add_revision(self, revision: Revision) -> None:
        if self.turn is None and not revision.row.afterwards:  # the plan starts in the middle of a turn
            self.turn, self.steps = revision.turn, deque(revision.turn.steps.all())
        self._start_steps(revision)
        states = {item["id"]: item["status"] for item in revision.row.items}
        done = [item for item in states if states[item] == "completed"]
        self._complete(revision, [item for item in done if not self.works[item].completed])
        for item in self.works.keys() & (states.keys() - done):
            self.works[item].completed = False
        for item in [item for item in self.in_progress if states.get(item) != "in_progress"]:
            self.in_progress.pop(item).ended = revision.row.created_at
        for item, state in states.items():
            if self.turn and state == "in_progress" and item not in self.in_progress:
                self._open_span(item, Span(self.turn, revision.row.created_at, revision.row.tool_call))
        self.states = states

    def _complete(self, revision: Revision, items: list[str]) -> None:
        by_user = revision.row.is_by_user
        for item in items:
            work = self.works[item]
            work.completed, work.by_person = True, by_user
        by_agent = [] if by_user else items
        if by_agent or self.states is None:
            self._assign_work(by_agent, revision)

    def _assign_work(self, completed: list[str], revision: Revision) -> None:
        """Assign the work since the last completion to items completed without having been in progress."""
        for span in self.since_completion[-1:]:
            span.ended = revision.row.created_at
        for item in completed:
            if item not in self.in_progress:
                self.works[item].spans += self.since_completion
                self.works[item].neighbours = len(completed) - 1
        row = revision.row
        self.since_completion = [Span(self.turn, row.created_at, row.tool_call)] if self.turn else []

    def _end_turn(self, moment: datetime.datetime | None) -> None:
        for span in self._open_spans():
            span.ended = moment
        self.in_progress, self.turn = {}, None


def _starts_before(step: Step, revision: Revision) -> bool:
    call = revision.row.tool_call
    return step.number <= call.step.number if call else step.started_at <= revision.row.created_at


@dataclass
class Span:
    """A stretch of a turn from the list `write`, or from the turn's start if None, to `ended`.

    `ended` is None while it is open, `began` if no worker has started the turn. `calls` has no todo writes.
    """

    turn: Turn
    began: datetime.datetime | None
    write: ToolCall | None = None
    ended: datetime.datetime | None = None
    steps: list[Step] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)


def seconds_of(spans: Iterable[Span], now: datetime.datetime) -> float:
    """The seconds covered by the spans up to `now`; overlaps count once, a clock set back counts 0."""
    seconds, until = 0.0, None
    for began, ended in sorted((span.began, span.ended or now) for span in spans if span.began):
        start = began if until is None else max(began, until)
        seconds += max(0.0, (ended - start).total_seconds())
        until = ended if until is None else max(until, ended)
    return seconds
