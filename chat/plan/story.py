"""The story of a conversation's lists: revisions, and the turns and tool calls around them, in order."""

from __future__ import annotations

from collections import defaultdict
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
    """A list that was accepted, the conversation's `number`th, and how its plan stands with it.

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

    Reads the rows in four queries, without what tools gave out.
    """
    teller = _Teller(list(conversation.revisions.order_by("pk")))
    calls = defaultdict[int, list[ToolCall]](list)
    rows = ToolCall.objects.filter(turn__conversation=conversation).defer("output", "detail")
    for call in rows.select_related("step").order_by("pk"):
        calls[call.turn_id].append(call)
    questions = Message.objects.filter(turn__conversation=conversation, role="user", step=None)
    asked = dict(questions.values_list("turn", "text"))
    for turn in conversation.turns.order_by("pk"):
        yield TurnBegan(turn, asked.get(turn.pk, ""))
        yield from teller.tell(turn, calls[turn.pk])
        if not turn.is_active:
            yield TurnEnded(turn)


class _Teller:
    """Tells turn by turn what became of the lists, and knows where it is."""

    def __init__(self, rows: Sequence[TodoRevision]) -> None:
        self.numbers = {row.tool_call_id: (number, row) for number, row in enumerate(rows, 1)}
        self.plan = 1
        self.lines: list[Line] = []

    def tell(self, turn: Turn, calls: Sequence[ToolCall]) -> Iterator[Entry]:
        """The calls of a turn, in groups, and the revisions between them."""
        last = max((call.pk for call in calls if call.pk in self.numbers), default=0)
        group: list[ToolCall] = []
        for call in calls:
            if call.pk not in self.numbers:
                group.append(call)
                continue
            if group:
                yield Calls(turn, group)
                group = []
            yield self._revision(turn, call, cut_off=call.pk == last and turn.status in ENDED_BADLY)
        if group:
            yield Calls(turn, group)

    def _revision(self, turn: Turn, call: ToolCall, *, cut_off: bool) -> Revision:
        number, row = self.numbers[call.pk]
        row.turn, row.tool_call = turn, call
        if self._begins_a_plan(row.items):
            self.plan += 1
            self.lines = []
        self.lines = lines_of(row.items, self.lines)
        return Revision(number, self.plan, row, self.lines, cut_off)

    def _begins_a_plan(self, items: Sequence[Item]) -> bool:
        """Whether the list shares no item with the last one, in a plan that has had any."""
        listed = {line.item["id"] for line in self.lines if not line.is_removed}
        return bool(items and self.lines and listed.isdisjoint(item["id"] for item in items))
