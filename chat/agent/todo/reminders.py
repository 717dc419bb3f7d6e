"""Soft reminders: they ride on a request that is made anyway, and are never a message of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chat.agent.prompts import Language, phrase
from chat.agent.todo.list import TodoList


class Reminders:
    """Counts a turn's rounds and says when one is due.

    A round is a model call that asked for tools. Any `TodoWrite` starts the count again, and so does a
    reminder. Nothing is said once the list is complete, and only once in a turn when there is no list.
    """

    def __init__(self, todos: TodoList, rounds: int = 0, given: int = 0) -> None:
        self.todos = todos
        self.rounds = rounds
        self.given = given

    def count_round(self, *, wrote: bool) -> None:
        """Count one round; `wrote` says that it asked for `TodoWrite`, refused or not."""
        self.rounds = 0 if wrote else self.rounds + 1

    def due(self) -> str:
        """The reminder that the next request carries, or an empty text; giving one starts the count again."""
        policy = self.todos.policy
        said_enough = self.todos.complete or (not self.todos.items and self.given)
        if self.rounds < policy.remind_after or said_enough:
            return ""
        text = phrase(self.todos.language, "reminder.later", policy.name, rounds=self.rounds)
        self.rounds = 0
        self.given += 1
        return text


def enclosed(reminder: str, content: str, tag: str = "reminder") -> str:
    """The content with a reminder ahead of it."""
    return f"<{tag}>{reminder}</{tag}>\n{content}"


def remind(message: dict[str, Any], reminder: str, tag: str = "reminder") -> None:
    """Put a reminder, or what else stands between such tags, ahead of the message's text or list of parts."""
    content = message.get("content") or ""
    if isinstance(content, str):
        message["content"] = enclosed(reminder, content, tag)
    else:
        message["content"] = [{"type": "text", "text": enclosed(reminder, "", tag)}, *content]


def with_first_reminder(messages: Sequence[Mapping[str, Any]], language: Language) -> list[dict[str, Any]]:
    """The messages, with the reminder to plan ahead of the text of the conversation's first one."""
    copies = [dict(message) for message in messages]
    first = next((message for message in copies if message.get("role") == "user"), None)
    if first is not None:
        remind(first, phrase(language, "reminder.first"))
    return copies
