"""A todo list and the rules that it obeys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from chat.agent.prompts import Language, phrase
from chat.agent.todo.edit import changes_of
from chat.agent.todo.item import TodoItem, with_stable_ids
from chat.agent.todo.policy import Status, TodoPolicy, as_policy
from chat.agent.todo.reading import Reader


class TodoList:
    """The list as it stands. The model writes it whole each time, or it is refused and stays as it was."""

    def __init__(
        self,
        policy: str | TodoPolicy = "focused",
        items: Iterable[TodoItem | Mapping[str, Any]] = (),
        language: Language = "en",
    ) -> None:
        """`items` are those so far, or dictionaries such as `write` takes; raises TodoError as it does."""
        self.policy = as_policy(policy)
        self.language = language
        self.reader = Reader(self.policy, language)
        self.items: tuple[TodoItem, ...] = ()
        given = list(items)
        if any(isinstance(item, Mapping) for item in given):
            self.write(given)
        else:
            self.items = tuple(map(self._own, cast(list[TodoItem], given)))

    def write(self, arguments: Any) -> str:
        """Replace the list by the given one, or the one in a `TodoWrite` call's arguments, and render it.

        Raises TodoError, with the text for the model, and leaves the list untouched if any part does not fit.
        """
        self.items = with_stable_ids(self.reader.read(arguments), self.items)
        return self.render()

    def take(self, items: Iterable[TodoItem]) -> str:
        """Let the list be what the person has made of it, with its ids.

        Gives the note that tells the model so; an empty one where it has nothing new to read.
        """
        before, self.items = self.items, tuple(map(self._own, items))
        changes = changes_of(before, self.items, self.language)
        if not changes:
            return ""
        listed = self.render(keys=True) or phrase(self.language, "todo.empty")
        return phrase(self.language, "edit.note", changes=changes, todos=listed)

    def draft(self, arguments: Any) -> tuple[TodoItem, ...]:
        """The list as it would be if the half-written arguments ended here; new items have no id yet."""
        return with_stable_ids(self.reader.draft(arguments), self.items, fresh=str)

    def render(self, *, keys: bool = False) -> str:
        """The list as the model reads it; with the ids that it chose, where they are not told otherwise."""
        if not self.items:
            return phrase(self.language, "todo.empty", self.policy.name)
        lines = [self._line(item, f"{item.key}: " if keys and item.key else "") for item in self.items]
        if self.policy.shows_count:
            lines += ["", phrase(self.language, "todo.count", done=self.done, total=len(self.items))]
        return "\n".join(lines)

    @property
    def statuses(self) -> list[str]:
        """The status of each item, in the policy's words."""
        return [item.word for item in self.items]

    @property
    def done(self) -> int:
        """How many items are completed."""
        return sum(item.status is Status.COMPLETED for item in self.items)

    @property
    def complete(self) -> bool:
        """Whether there is a list and all of it is done."""
        return bool(self.items) and self.done == len(self.items)

    def _own(self, item: TodoItem) -> TodoItem:
        """The item under this list's policy; one with a state that it does not have stays as it is."""
        return replace(item, policy=self.policy) if item.status in self.policy.states.values() else item

    def _line(self, item: TodoItem, key: str) -> str:
        if item.status is Status.IN_PROGRESS:
            doing = f" <- {item.active_form}" if item.active_form else ""
            return f"[>] {key}{item.content}{doing}"
        return f"[{'x' if item.status is Status.COMPLETED else ' '}] {key}{item.content}"


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
