"""The todo lists that a turn writes down, and what shows of one while it is still being written."""

from __future__ import annotations

from collections.abc import Sequence

from chat.agent import TodoItem
from chat.live.changes import PanelChanged
from chat.live.todo_panel import drafted, panel, panel_of
from chat.models import TodoRevision, ToolCall, Turn
from chat.models.text import clean


class Planning:
    """The lists of one turn; `listed` is the latest that was accepted in it."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.listed: list[dict[str, str]] = []

    def draft(self, items: Sequence[TodoItem] | None) -> PanelChanged:
        """Show the list that a call, still streaming, has so far; None puts the last accepted one back."""
        if items is None:
            return PanelChanged(panel_of(self.turn.conversation))
        return PanelChanged(panel(self.turn, drafted([item.as_dict() for item in items], self.listed)))

    def revise(self, call: ToolCall, items: Sequence[TodoItem]) -> PanelChanged:
        """Write down the list as the call left it."""
        written = [{name: clean(value) for name, value in item.as_dict().items()} for item in items]
        revision = TodoRevision.write(self.turn, call, self.turn.profile.todo_policy, written)
        self.listed = revision.items
        return PanelChanged(panel(self.turn, revision.items))
