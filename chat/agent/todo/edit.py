"""One change that a person makes in a list, and whether it still applies to the list as it is now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Literal

from chat.agent.prompts import Language, phrase
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


def merged(
    written: Sequence[TodoItem], persons: Sequence[TodoItem], known: Sequence[TodoItem]
) -> tuple[TodoItem, ...]:
    """The list that holds what the model wrote and what the person changed; the person's word goes first.

    `known` is the list that the model had in view as it wrote `written`; `persons` is what the person made of
    it meanwhile. All three have the same ids for the same items. Item by item:

    - what the person skipped stays out; what they ticked, opened again or reworded stays so, also where the
      model left it out; of what they did not touch the model's state, words and removal count;
    - what the person added stays behind the item that they put it behind; where the model has added an item
      of the same words, the two are one;
    - where the person changed the order, the items that both lists have stand in the person's.

    At most one item is in progress: the model's. The list may come out longer than the policy allows, as
    nothing of the person's is dropped; the limit then holds for the next one that is written.
    """
    persons_by_id, known_by_id = _by_id(persons), _by_id(known)
    added = {item.content: item for item in persons if item.id not in known_by_id}
    # What the user left alone may have a state that the policy of what is written does not have.
    free = [replace(item, policy=None) for item in written]
    model = [item if item.id in known_by_id else _same_words(item, added) for item in free]
    items = [
        _item(item, persons_by_id.get(item.id), known_by_id.get(item.id))
        for item in model
        if item.id in persons_by_id or item.id not in known_by_id
    ]
    items = _in_order(items, persons, known)
    works = any(item.status is Status.IN_PROGRESS for item in items)
    listed = {item.id for item in items}
    for place, item in enumerate(persons):
        if item.id not in listed and _is_touched(item, known_by_id.get(item.id)):
            ahead = {other.id for other in persons[:place]}
            at = max((at for at, other in enumerate(items, 1) if other.id in ahead), default=0)
            items.insert(at, _at_rest(item) if works else item)
            works = works or item.status is Status.IN_PROGRESS
    return tuple(items)


def _by_id(items: Sequence[TodoItem]) -> dict[str, TodoItem]:
    return {item.id: item for item in items}


def _same_words(item: TodoItem, added: dict[str, TodoItem]) -> TodoItem:
    """The model's new item, as the one that the person added if that says the same."""
    same = added.pop(item.content, None)
    return replace(item, id=same.id, key=same.key or item.key) if same else item


def _item(item: TodoItem, persons: TodoItem | None, known: TodoItem | None) -> TodoItem:
    """The model's item with what the person changed in it."""
    if persons is None:
        return item
    if known is None:
        return replace(item, status=persons.status) if persons.status is Status.COMPLETED else item
    if persons.content != known.content:
        item = replace(item, content=persons.content, active_form=persons.active_form)
    if (persons.status is Status.COMPLETED) != (known.status is Status.COMPLETED):
        item = replace(item, status=persons.status)
    return item


def _is_touched(item: TodoItem, known: TodoItem | None) -> bool:
    """Whether the person added or changed the item."""
    if known is None or item.content != known.content:
        return True
    return (item.status is Status.COMPLETED) != (known.status is Status.COMPLETED)


def _at_rest(item: TodoItem) -> TodoItem:
    return replace(item, status=Status.PENDING) if item.status is Status.IN_PROGRESS else item


def _in_order(
    items: list[TodoItem], persons: Sequence[TodoItem], known: Sequence[TodoItem]
) -> list[TodoItem]:
    """The items, those that the person has too in their order if they changed it; the rest stay in place."""
    before = [item.id for item in known]
    after = [item.id for item in persons]
    if [id_ for id_ in before if id_ in after] == [id_ for id_ in after if id_ in before]:
        return items
    shared = [item for item in items if item.id in after]
    ordered = iter(sorted(shared, key=lambda item: after.index(item.id)))
    return [next(ordered) if item.id in after else item for item in items]


_JOINT: dict[Language, str] = {"en": "; ", "zh": "；"}


def changes_of(before: Sequence[TodoItem], after: Sequence[TodoItem], language: Language) -> str:
    """What made the list `after` of the one `before`; empty where the model sees no difference."""
    return _JOINT[language].join(_changes(before, after, language))


def _changes(before: Sequence[TodoItem], after: Sequence[TodoItem], language: Language) -> Iterator[str]:
    old, new = {item.id: item for item in before}, {item.id: item for item in after}
    for item in before:
        if item.id not in new:
            yield phrase(language, "edit.skipped", content=item.content)
    for item in after:
        was = old.get(item.id)
        if was is None:
            which = "edit.added_done" if item.status is Status.COMPLETED else "edit.added"
            yield phrase(language, which, content=item.content)
            continue
        if item.content != was.content:
            yield phrase(language, "edit.reworded", before=was.content, content=item.content)
        if (item.status is Status.COMPLETED) != (was.status is Status.COMPLETED):
            which = "edit.ticked" if item.status is Status.COMPLETED else "edit.reopened"
            yield phrase(language, which, content=item.content)
    if [id_ for id_ in old if id_ in new] != [id_ for id_ in new if id_ in old]:
        yield phrase(language, "edit.reordered")
