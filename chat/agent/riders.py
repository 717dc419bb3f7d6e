"""What rides on a request that is made anyway: a reminder, and what the person changed in the todo list."""

from __future__ import annotations

from typing import Any

from chat.agent.context.marks import begins_turn
from chat.agent.person import Edits
from chat.agent.results import first_of_the_latest
from chat.agent.todo import Reminders, TodoList

Message = dict[str, Any]


class Riders:
    """Puts them where the request carries them: ahead of the first of the latest results.

    Nothing may stand between a call and its results, and some endpoints allow no message of the person's
    right after them. In a turn's first request there is no result: what the person changed stands ahead of
    their words.
    """

    def __init__(self, todos: TodoList, reminders: Reminders, edits: Edits) -> None:
        self.todos = todos
        self.reminders = reminders
        self.edits = edits

    async def tell(self, messages: list[Message]) -> str:
        """Take in what the person has made of the list, and tell the model so; gives the note."""
        items = await self.edits()
        note = self.todos.take(items) if items is not None else ""
        begins = bool(messages) and begins_turn(messages[-1])
        carrier = messages[-1] if begins else first_of_the_latest(messages)
        if carrier and note:
            carrier["told"] = note
        return note

    def remind(self, messages: list[Message]) -> str:
        """Give a reminder that is due; the text of it."""
        result = first_of_the_latest(messages)
        reminder = self.reminders.due() if result else ""
        if result and reminder:
            result["reminder"] = reminder
        return reminder
