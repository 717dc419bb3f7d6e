"""One change that a person makes in a list, and whether it still applies to the list as it is now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Literal

from chat.agent.prompts import Language
from chat.agent.todo.item import TodoItem, new_id
from chat.agent.todo.policy import Status, TodoPolicy
from chat.agent.todo.reading import Reader, TodoError

LONGEST = 500  # characters of an item

Action = Literal["add", "reword", "tick", "untick", "skip", "up", "down", "move"]
ITEM_ACTIONS: tuple[Action, ...] = ("reword", "tick", "untick", "skip", "up", "down", "move")


class EditError(ValueError):
    """The change does not apply. `kind` says why; `now` is the item as it stands, where there is one.

    Kinds: `gone` and `changed`, as somebody else changed the list since the person saw it; `blank`, `long`
    and those of the policy, such as `too_many`.
    """

    def __init__(self, kind: str, now: TodoItem | None = None) -> None:
        super().__init__(kind)
        self.kind = kind
        self.now = now


@dataclass(frozen=True)
class Edit:
    """What is to be done, with the item of that id; `text` is for new words, `place` (from 0) for a move."""

    action: Action
    item: str = ""
    text: str = ""
    place: int = 0

    def applied(
        self, items: Sequence[TodoItem], seen: Sequence[TodoItem], policy: TodoPolicy, language: Language
    ) -> list[TodoItem]:
        """The list as the change leaves it; what a person does not type is for `filled`.

        `seen` is the list that the person had in view. Whoever rewords, ticks or skips an item means the one
        that they read: one that reads otherwise by now is left alone. Raises EditError.
        """
        if self.action == "add":
            listed = [*items, TodoItem(_words(self.text), id=new_id())]
            _check(listed, policy, language)
            return listed
        place = next((place for place, item in enumerate(items) if item.id == self.item), None)
        if place is None:
            raise EditError("gone")
        if self.action in ("up", "down", "move"):
            return _moved(items, place, {"up": place - 1, "down": place + 1}.get(self.action, self.place))
        item = items[place]
        words = _words(self.text) if self.action == "reword" else ""
        if item.content not in (words, *(was.content for was in seen if was.id == item.id)):
            raise EditError("changed", item)
        return [*items[:place], *self._changed(item, words), *items[place + 1 :]]

    def _changed(self, item: TodoItem, words: str) -> list[TodoItem]:
        match self.action:
            case "skip":
                return []
            case "tick":
                return [replace(item, status=Status.COMPLETED)]
            case "untick":
                done = item.status is Status.COMPLETED
                return [replace(item, status=Status.PENDING) if done else item]
            case _:
                return [item if words == item.content else replace(item, content=words, active_form="")]


def filled(items: Sequence[TodoItem], policy: TodoPolicy) -> list[TodoItem]:
    """The items with all that the policy asks for, and nothing that it does not have."""
    keys = {item.key for item in items}
    fresh = (str(number) for number in count(1) if str(number) not in keys)
    known = set(policy.states.values())
    return [
        replace(
            item,
            status=item.status if item.status in known else Status.PENDING,
            active_form=(item.active_form or item.content) if policy.has_active_form else "",
            key=(item.key or next(fresh)) if policy.has_key else "",
        )
        for item in items
    ]


def _words(text: str) -> str:
    words = " ".join(text.split())
    if not words:
        raise EditError("blank")
    if len(words) > LONGEST:
        raise EditError("long")
    return words


def _check(items: Sequence[TodoItem], policy: TodoPolicy, language: Language) -> None:
    try:
        Reader(policy, language).check(items)
    except TodoError as error:
        raise EditError(error.kind) from None


def _moved(items: Sequence[TodoItem], place: int, to: int) -> list[TodoItem]:
    rest = [*items[:place], *items[place + 1 :]]
    rest.insert(min(max(to, 0), len(rest)), items[place])
    return rest
