"""The todo list as it can be read from a `TodoWrite` call that is still being written."""

from __future__ import annotations

from collections.abc import Sequence

from jiter import from_json

from chat.agent.model.assembly import OpenCall
from chat.agent.todo import TODO_WRITE, TodoItem, TodoList

# Characters; a list of twenty items is far shorter, and each piece means reading all of it again.
MAX_DRAFT = 64 * 1024


class Draft:
    """Follows the first `TodoWrite` of a reply; `items` is what was last shown of it, None for nothing."""

    def __init__(self, todos: TodoList) -> None:
        self.todos = todos
        self.items: tuple[TodoItem, ...] | None = None

    def read(self, calls: Sequence[OpenCall]) -> tuple[TodoItem, ...] | None:
        """The list that the calls, half written, amount to, or None when it did not change."""
        call = next((call for call in calls if call.name == TODO_WRITE), None)
        if call is None or not call.arguments or len(call.arguments) > MAX_DRAFT:
            return None
        try:
            arguments = from_json(call.arguments.encode(), partial_mode="trailing-strings")
        except ValueError:
            return None
        items = self.todos.draft(arguments)
        if not items or items == self.items:
            return None
        self.items = items
        return items
