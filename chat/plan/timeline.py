"""The timeline of a conversation's todo lists: revisions, and the turns and tool calls around them."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from django.db.models import Case, F, JSONField, QuerySet, When

from chat.models import Conversation, Message, TodoRevision, ToolCall, Turn
from chat.models.follow_up import named_in, own_words, read_named_files
from chat.models.tool_call import SHELL
from chat.plan.difference import Kind, Line, lines_of

ENDED_BADLY = (Turn.Status.STOPPED, Turn.Status.FAILED, Turn.Status.INTERRUPTED)


@dataclass(frozen=True)
class TurnBegan:
    turn: Turn
    text: str
    kind = "began"


@dataclass(frozen=True)
class Calls:
    turn: Turn
    calls: list[ToolCall] = field(default_factory=list)
    kind = "calls"


@dataclass(frozen=True)
class Revision:
    """A list written by the agent or the user: the conversation's `number`th, and `plan`'s lines with it.

    It is `cut_off` if its turn then ended badly, so nobody works on the item in progress.
    """

    number: int
    plan: int
    row: TodoRevision
    lines: list[Line]
    cut_off: bool = False
    kind = "revision"

    @property
    def listed(self) -> list[Line]:
        """Its lines without what was removed, but with what was skipped."""
        return [line for line in self.lines if not line.is_removed or line.skipped]

    @property
    def turn(self) -> Turn:
        return self.row.turn

    @property
    def changed(self) -> list[Line]:
        return [line for line in self.lines if line.kinds]

    def count(self, kind: Kind) -> int:
        return sum(kind in line.kinds for line in self.lines)


@dataclass(frozen=True)
class TurnEnded:
    turn: Turn
    kind = "ended"


Entry = TurnBegan | Calls | Revision | TurnEnded


def timeline_of(
    conversation: Conversation,
    *,
    latest: bool = False,
    keys: Sequence[int] | None = None,
    prepare: Callable[[TodoRevision | ToolCall], object] = lambda row: None,
) -> Iterator[Entry]:
    """Yield the entries of the conversation's timeline, in order.

    Reads the rows in five queries (six with attached files), without the output of tools. With `latest`,
    reads only the turns since the latest plan began (none without a list), and neither the arguments of tools
    nor the user's messages.
    `keys` are those of the turns; the conversation's path by default. `prepare` may change the rows in memory
    before they are used.
    """
    turns = (conversation.path if keys is None else conversation.turns.filter(pk__in=keys)).order_by("pk")
    rows = list(conversation.revisions.filter(turn__in=turns.order_by()).order_by("pk"))
    for row in rows:
        prepare(row)
    builder = _TimelineBuilder(rows)
    if latest:
        turns = turns.filter(pk__gte=_latest_plan_turn(rows)) if rows else turns.none()
    calls = _calls(turns, ["arguments"] if latest else [])
    texts = {} if latest else _user_texts(conversation)
    for call in chain.from_iterable(calls.values()):
        prepare(call)
    for turn in turns.prefetch_related("steps"):  # after the calls, so that the steps of all of them exist
        yield TurnBegan(turn, texts.get(turn.pk, ""))
        yield from builder.entries(turn, _with_steps(turn, calls[turn.pk]))
        if not turn.is_active:
            yield TurnEnded(turn)
        yield from builder.entries_after(turn)


def _latest_plan_turn(rows: Sequence[TodoRevision]) -> int:
    since, known, has_skips = rows[0].turn_id, set[str](), False
    for row in rows:
        if begins_a_plan(row, known, has_skips=has_skips):
            since, known, has_skips = row.turn_id, set(), False
        known |= {item["id"] for item in row.items}
        has_skips = has_skips or bool(row.skipped)
    return since


def _user_texts(conversation: Conversation) -> dict[int, str]:
    """By turn: what the user wrote, else the names of the attached files."""
    questions = list(Message.objects.filter(turn__conversation=conversation, role="user", step=None))
    read_named_files(questions)
    return {each.turn_id: own_words(each) or ", ".join(named_in(each.text)) for each in questions}


def _calls(turns: QuerySet[Turn], deferred: Sequence[str]) -> Mapping[int, list[ToolCall]]:
    """The tool calls by turn; `detail` is loaded only for shell commands."""
    calls = defaultdict[int, list[ToolCall]](list)
    detail = Case(When(name=SHELL, then=F("detail")), output_field=JSONField())
    rows = ToolCall.objects.filter(turn__in=turns.order_by()).annotate(shell_detail=detail)
    for call in rows.defer("output", "detail", "extra", "shortened", *deferred).order_by("pk"):
        call.detail = call.shell_detail or {}
        calls[call.turn_id].append(call)
    return calls


def _with_steps(turn: Turn, calls: list[ToolCall]) -> list[ToolCall]:
    steps = {step.pk: step for step in turn.steps.all()}
    for call in calls:
        call.turn, call.step = turn, steps[call.step_id]
    return calls


def begins_a_plan(row: TodoRevision, known: Collection[str], *, has_skips: bool) -> bool:
    """Whether the list starts a new plan: it has no item of the current one, whose ids are `known`.

    While that `has_skips`, items that the user skipped and still sees on the list, what the user adds
    belongs to it.
    """
    goes_on = any(item["id"] in known for item in row.items) or (row.is_by_user and has_skips)
    return bool(row.items and known and not goes_on)


class _TimelineBuilder:
    def __init__(self, rows: Sequence[TodoRevision]) -> None:
        self.rows = defaultdict[int, list[tuple[int, TodoRevision]]](list)
        for number, row in enumerate(rows, 1):
            self.rows[row.turn_id].append((number, row))
        self.plan = 1
        self.lines: list[Line] = []

    def entries(self, turn: Turn, calls: Sequence[ToolCall]) -> Iterator[Entry]:
        """A turn's calls in groups, with the revisions between them. Revisions keep their own order."""
        pending = deque((number, row) for number, row in self.rows[turn.pk] if not row.afterwards)
        group: list[ToolCall] = []
        for call in (None, *calls):
            written = next((row for _, row in pending if call and row.tool_call_id == call.pk), None)
            if call and not written:
                group.append(call)
            while pending and _is_due(call, pending[0][1], written):
                if group:
                    yield Calls(turn, group)
                    group = []
                yield self._revision(turn, *pending.popleft(), call, last=not pending)
        if group:
            yield Calls(turn, group)
        for number, row in pending:
            yield self._revision(turn, number, row, None, last=row == pending[-1][1])

    def entries_after(self, turn: Turn) -> Iterator[Entry]:
        for number, row in self.rows[turn.pk]:
            if row.afterwards:
                yield self._revision(turn, number, row, None, last=True)

    def _revision(
        self, turn: Turn, number: int, row: TodoRevision, call: ToolCall | None, *, last: bool
    ) -> Revision:
        row.turn, row.tool_call = turn, None if row.is_by_user else call
        known = {line.item["id"] for line in self.lines}
        has_skips = any(line.skipped for line in self.lines)
        if begins_a_plan(row, known, has_skips=has_skips):
            self.plan += 1
            self.lines = []
        self.lines = lines_of(row.items, self.lines, row.skipped, by_user=row.is_by_user)
        return Revision(number, self.plan, row, self.lines, last and turn.status in ENDED_BADLY)


def _is_due(call: ToolCall | None, row: TodoRevision, written: TodoRevision | None) -> bool:
    """Whether the revision comes before the next call; `written` is the revision that the call wrote.

    An edit by the user that was made while the call's list was being written comes before that list.
    """
    if not row.is_by_user:
        return row == written
    was_earlier = written is not None and row.pk < written.pk
    return was_earlier or (row.after_id or 0) <= (call.pk if call else 0)
