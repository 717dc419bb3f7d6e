"""The story of a conversation's lists: revisions, and the turns and tool calls around them, in order."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from django.db.models import Case, F, JSONField, QuerySet, When

from chat.models import Conversation, Message, TodoRevision, ToolCall, Turn
from chat.models.tool_call import SHELL
from chat.plan.difference import Item, Kind, Line, lines_of

ENDED_BADLY = (Turn.Status.STOPPED, Turn.Status.FAILED, Turn.Status.INTERRUPTED)


@dataclass(frozen=True)
class TurnBegan:
    """The person sent a message."""

    turn: Turn
    text: str
    kind = "began"


@dataclass(frozen=True)
class Calls:
    """Tool calls one after the other, todo writes that were refused among them."""

    turn: Turn
    calls: list[ToolCall] = field(default_factory=list)
    kind = "calls"


@dataclass(frozen=True)
class Revision:
    """A list that agent or person wrote, the conversation's `number`th, and how its plan stands with it.

    It was `cut_off` if its turn came to a bad end with it: nobody works on the item in progress.
    """

    number: int
    plan: int
    row: TodoRevision
    lines: list[Line]
    cut_off: bool = False
    kind = "revision"

    @property
    def turn(self) -> Turn:
        """The turn that it belongs to."""
        return self.row.turn

    @property
    def changed(self) -> list[Line]:
        """The lines of which it says something new."""
        return [line for line in self.lines if line.kinds]

    def count(self, kind: Kind) -> int:
        """How many items became that."""
        return sum(kind in line.kinds for line in self.lines)


@dataclass(frozen=True)
class TurnEnded:
    """The agent's work came to an end, good or bad."""

    turn: Turn
    kind = "ended"


Entry = TurnBegan | Calls | Revision | TurnEnded


def story(
    conversation: Conversation,
    *,
    latest: bool = False,
    prepare: Callable[[TodoRevision | ToolCall], object] = lambda row: None,
) -> Iterator[Entry]:
    """All that happened to the conversation's lists, in order.

    Reads the rows in five queries, without what tools gave out. With `latest` only the turns from that on in
    which the latest plan begins, none without a list; without what tools were given and the person wrote.
    `prepare` may change the rows in memory, before anything is told of them.
    """
    rows = list(conversation.revisions.order_by("pk"))
    for row in rows:
        prepare(row)
    teller = _Teller(rows)
    turns = conversation.turns.order_by("pk")
    if latest:
        turns = turns.filter(pk__gte=_latest_begins(rows)) if rows else turns.none()
    calls = _calls(turns, ["arguments"] if latest else [])
    asked = {} if latest else _asked(conversation)
    for call in chain.from_iterable(calls.values()):
        prepare(call)
    for turn in turns.prefetch_related("steps"):  # behind the calls, so that there is the step of each
        yield TurnBegan(turn, asked.get(turn.pk, ""))
        yield from teller.tell(turn, _with_steps(turn, calls[turn.pk]))
        if not turn.is_active:
            yield TurnEnded(turn)
        yield from teller.tell_afterwards(turn)


def _latest_begins(rows: Sequence[TodoRevision]) -> int:
    """The turn in which the latest plan begins."""
    since, listed, had_any = rows[0].turn_id, set[str](), False
    for row in rows:
        begins = begins_a_plan(row.items, listed, had_any=had_any)
        listed = {item["id"] for item in row.items}
        had_any = bool(row.items) or (had_any and not begins)
        since = row.turn_id if begins else since
    return since


def _asked(conversation: Conversation) -> dict[int, str]:
    questions = Message.objects.filter(turn__conversation=conversation, role="user", step=None)
    return dict(questions.values_list("turn", "text"))


def _calls(turns: QuerySet[Turn], unread: Sequence[str]) -> Mapping[int, list[ToolCall]]:
    """The calls of turns, by turn; of what they left for the person only what commands did."""
    found = defaultdict[int, list[ToolCall]](list)
    left = Case(When(name=SHELL, then=F("detail")), output_field=JSONField())
    rows = ToolCall.objects.filter(turn__in=turns.order_by()).annotate(left=left)
    for call in rows.defer("output", "detail", "extra", "shortened", *unread).order_by("pk"):
        call.detail = call.left or {}
        found[call.turn_id].append(call)
    return found


def _with_steps(turn: Turn, calls: list[ToolCall]) -> list[ToolCall]:
    steps = {step.pk: step for step in turn.steps.all()}
    for call in calls:
        call.turn, call.step = turn, steps[call.step_id]
    return calls


def begins_a_plan(items: Collection[Item], listed: Collection[str], *, had_any: bool) -> bool:
    """Whether the list shares no item with the last one, which has these `listed`, in a plan that had any."""
    return bool(items and had_any and not any(item["id"] in listed for item in items))


class _Teller:
    """Tells turn by turn what became of the lists, and knows where it is."""

    def __init__(self, rows: Sequence[TodoRevision]) -> None:
        self.rows = defaultdict[int, list[tuple[int, TodoRevision]]](list)
        for number, row in enumerate(rows, 1):
            self.rows[row.turn_id].append((number, row))
        self.plan = 1
        self.lines: list[Line] = []

    def tell(self, turn: Turn, calls: Sequence[ToolCall]) -> Iterator[Entry]:
        """The calls of a turn, in groups, and the revisions between them: those always in their own order."""
        waiting = deque((number, row) for number, row in self.rows[turn.pk] if not row.afterwards)
        group: list[ToolCall] = []
        for call in (None, *calls):
            wrote = next((row for _, row in waiting if call and row.tool_call_id == call.pk), None)
            if call and not wrote:
                group.append(call)
            while waiting and _comes_by(call, waiting[0][1], wrote):
                if group:
                    yield Calls(turn, group)
                    group = []
                yield self._revision(turn, *waiting.popleft(), call, last=not waiting)
        if group:
            yield Calls(turn, group)
        for number, row in waiting:
            yield self._revision(turn, number, row, None, last=row == waiting[-1][1])

    def tell_afterwards(self, turn: Turn) -> Iterator[Entry]:
        """What the person changed once the turn had ended."""
        for number, row in self.rows[turn.pk]:
            if row.afterwards:
                yield self._revision(turn, number, row, None, last=True)

    def _revision(
        self, turn: Turn, number: int, row: TodoRevision, call: ToolCall | None, *, last: bool
    ) -> Revision:
        row.turn, row.tool_call = turn, None if row.is_the_persons else call
        listed = {line.item["id"] for line in self.lines if not line.is_removed}
        if begins_a_plan(row.items, listed, had_any=bool(self.lines)):
            self.plan += 1
            self.lines = []
        self.lines = lines_of(row.items, self.lines, row.skipped)
        return Revision(number, self.plan, row, self.lines, last and turn.status in ENDED_BADLY)


def _comes_by(call: ToolCall | None, row: TodoRevision, wrote: TodoRevision | None) -> bool:
    """Whether the revision's place is reached with the call, by which the revision `wrote` was written.

    What the person changed while that was on its way was there before it.
    """
    if not row.is_the_persons:
        return row == wrote
    ahead = wrote is not None and row.pk < wrote.pk
    return ahead or (row.after_id or 0) <= (call.pk if call else 0)
