"""The story of a conversation's lists: revisions, and the turns and tool calls around them, in order."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from chat.models import Conversation, Message, TodoRevision, ToolCall, Turn
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


def story(conversation: Conversation) -> Iterator[Entry]:
    """All that happened to the conversation's lists, in order.

    Reads the rows in five queries, without what tools gave out.
    """
    teller = _Teller(list(conversation.revisions.order_by("pk")))
    calls = defaultdict[int, list[ToolCall]](list)
    rows = ToolCall.objects.filter(turn__conversation=conversation).defer(
        "output", "detail", "extra", "shortened"
    )
    for call in rows.select_related("step").order_by("pk"):
        calls[call.turn_id].append(call)
    questions = Message.objects.filter(turn__conversation=conversation, role="user", step=None)
    asked = dict(questions.values_list("turn", "text"))
    for turn in conversation.turns.order_by("pk").prefetch_related("steps"):
        yield TurnBegan(turn, asked.get(turn.pk, ""))
        yield from teller.tell(turn, calls[turn.pk])
        if not turn.is_active:
            yield TurnEnded(turn)
        yield from teller.tell_afterwards(turn)


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
        if self._begins_a_plan(row.items):
            self.plan += 1
            self.lines = []
        self.lines = lines_of(row.items, self.lines, row.skipped)
        return Revision(number, self.plan, row, self.lines, last and turn.status in ENDED_BADLY)

    def _begins_a_plan(self, items: Sequence[Item]) -> bool:
        """Whether the list shares no item with the last one, in a plan that has had any."""
        listed = {line.item["id"] for line in self.lines if not line.is_removed}
        return bool(items and self.lines and listed.isdisjoint(item["id"] for item in items))


def _comes_by(call: ToolCall | None, row: TodoRevision, wrote: TodoRevision | None) -> bool:
    """Whether the revision's place is reached with the call, by which the revision `wrote` was written.

    What the person changed while that was on its way was there before it.
    """
    if not row.is_the_persons:
        return row == wrote
    ahead = wrote is not None and row.pk < wrote.pk
    return ahead or (row.after_id or 0) <= (call.pk if call else 0)
