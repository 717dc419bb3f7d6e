"""The current todo list, and the reminders about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from chat.agent.prompts import Language, phrase
from chat.agent.todo.edit import changes_of, with_edits_kept
from chat.agent.todo.item import TodoItem, with_stable_ids
from chat.agent.todo.policy import Status, TodoPolicy, as_policy
from chat.agent.todo.reading import Reader


class TodoList:
    """The current list. The model replaces it as a whole; a refused list changes nothing."""

    def __init__(
        self,
        policy: str | TodoPolicy = "focused",
        items: Iterable[TodoItem | Mapping[str, Any]] = (),
        language: Language = "en",
        written: Sequence[TodoItem] = (),
    ) -> None:
        """`items` are items, or dictionaries as `write` accepts them; raises TodoError as it does.

        `written` is the list as the model wrote it last, if the user has changed it since.
        """
        self.policy = as_policy(policy)
        self.language = language
        self.reader = Reader(self.policy, language)
        self.items: tuple[TodoItem, ...] = ()
        self.written: tuple[TodoItem, ...] = ()  # as the model wrote it last, or was given it
        self.was_refused = False
        initial = list(items)
        if any(isinstance(item, Mapping) for item in initial):
            self.write(initial)
        else:
            self.items = tuple(map(self._with_policy, cast(list[TodoItem], initial)))
            self.written = tuple(written) or self.items

    def write(self, arguments: Any) -> str:
        """Replace the list and render it; an invalid list changes nothing and raises TodoError.

        Where the list repeats what the user has changed since the model wrote it last, the changes stay, and
        the result tells of them again.
        """
        self.was_refused = True
        written = with_stable_ids(self.reader.read(arguments), self.items, written=self.written)
        self.items, self.written = with_edits_kept(written, self.items, self.written), written
        self.was_refused = False
        if not (note := self._note(written)):
            return self.render()
        is_left_out = not {item.id for item in written} <= {item.id for item in self.items}
        return f"{note}\n{phrase(self.language, 'edit.left_out')}" if is_left_out else note

    def apply_edits(self, items: Iterable[TodoItem]) -> str:
        """Replace the list by the user's version; returns the note for the model, "" if nothing changed."""
        before, agents = self.items, {item.id for item in self.items if not item.by_user}
        self.items = tuple(replace(self._with_policy(item), by_user=item.id not in agents) for item in items)
        return self._note(before)

    def _note(self, before: Sequence[TodoItem]) -> str:
        changes = changes_of(before, self.items, self.language)
        if not changes:
            return ""
        listed = self.render(keys=True) or phrase(self.language, "todo.empty")
        return phrase(self.language, "edit.note", changes=changes, todos=listed)

    def draft(self, arguments: Any) -> tuple[TodoItem, ...]:
        """The list that partial arguments amount to; new items have no id yet.

        The last one, whose text may be cut off, continues an item whose text begins like that. After a list
        that was refused the next one is empty until it is whole, or each attempt would come and go.
        """
        if self.was_refused:
            return ()
        items = with_stable_ids(self.reader.draft(arguments), self.items, fresh=str, written=self.written)
        if not items or items[-1].id:
            return with_edits_kept(items, self.items, self.written)
        *whole, last = items
        whole = list(with_edits_kept(whole, self.items, self.written))
        known = {item.id for item in whole}
        free = [item for item in (*self.items[len(whole) :], *self.items) if item.id not in known]
        begun = next((item for item in free if item.content.startswith(last.content)), None)
        return (*whole, replace(last, id=begun.id, by_user=begun.by_user)) if begun else items

    def render(self, *, keys: bool = False) -> str:
        """The list as the model reads it; `keys` adds the ids that the model chose."""
        if not self.items:
            return phrase(self.language, "todo.empty", self.policy.name)
        lines = [self._line(item, f"{item.key}: " if keys and item.key else "") for item in self.items]
        if self.policy.shows_count:
            lines += ["", phrase(self.language, "todo.count", done=self.done, total=len(self.items))]
        return "\n".join(lines)

    @property
    def statuses(self) -> list[str]:
        return [item.word for item in self.items]

    @property
    def done(self) -> int:
        return sum(item.status is Status.COMPLETED for item in self.items)

    @property
    def complete(self) -> bool:
        return bool(self.items) and self.done == len(self.items)

    def _with_policy(self, item: TodoItem) -> TodoItem:
        return replace(item, policy=self.policy) if item.status in self.policy.states.values() else item

    def _line(self, item: TodoItem, key: str) -> str:
        if item.status is Status.IN_PROGRESS:
            doing = f" <- {item.active_form}" if item.active_form else ""
            return f"[>] {key}{item.content}{doing}"
        return f"[{'x' if item.status is Status.COMPLETED else ' '}] {key}{item.content}"


class Reminders:
    """Counts a turn's rounds (model calls that requested tools) and says when a reminder is due.

    Any `TodoWrite` and any reminder restart the count. No reminders for a complete list, one for no list.
    """

    def __init__(self, todos: TodoList, rounds: int = 0, sent: int = 0) -> None:
        self.todos = todos
        self.rounds = rounds
        self.sent = sent

    def count_round(self, *, wrote: bool) -> None:
        self.rounds = 0 if wrote else self.rounds + 1

    def due(self) -> str:
        """The reminder for the next request, or ""; returning one restarts the count."""
        policy = self.todos.policy
        enough = self.todos.complete or (not self.todos.items and self.sent)
        if self.rounds < policy.remind_after or enough:
            return ""
        text = phrase(self.todos.language, "reminder.later", policy.name, rounds=self.rounds)
        self.rounds = 0
        self.sent += 1
        return text


def tagged(reminder: str, content: str, tag: str = "reminder") -> str:
    return f"<{tag}>{reminder}</{tag}>\n{content}"


def prepend_tagged(message: dict[str, Any], reminder: str, tag: str = "reminder") -> None:
    content = message.get("content") or ""
    if isinstance(content, str):
        message["content"] = tagged(reminder, content, tag)
    else:
        message["content"] = [{"type": "text", "text": tagged(reminder, "", tag)}, *content]


def with_first_reminder(messages: Sequence[Mapping[str, Any]], language: Language) -> list[dict[str, Any]]:
    copies = [dict(message) for message in messages]
    first = next((message for message in copies if message.get("role") == "user"), None)
    if first is not None:
        prepend_tagged(first, phrase(language, "reminder.first"))
    return copies
