"""The user's edits to a list, and merging them with what the model writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Literal, get_args

from chat.agent.prompts import Language, phrase
from chat.agent.todo.item import TodoItem, new_id
from chat.agent.todo.policy import Status, TodoPolicy
from chat.agent.todo.reading import Reader, TodoError

MAX_ITEM_LENGTH = 500  # characters

Action = Literal["add", "reword", "tick", "untick", "skip", "restore", "remove", "up", "down", "move"]
ITEM_ACTIONS: tuple[Action, ...] = tuple(action for action in get_args(Action) if action != "add")


class EditError(ValueError):
    """The edit does not apply; `current` is the item as it is, if it exists.

    `kind`: `gone` and `changed` (the list changed since), `blank`, `long`, or a policy's such as `too_many`.
    """

    def __init__(self, kind: str, current: TodoItem | None = None) -> None:
        super().__init__(kind)
        self.kind = kind
        self.current = current


@dataclass(frozen=True)
class Edit:
    """A change of the item with id `item`; `text` is for new words, `place` (from 0) for a move.

    An item is added as open, or as `done`, with the id `new`, else a fresh one.
    """

    action: Action
    item: str = ""
    text: str = ""
    place: int = 0
    done: bool = False
    new: str = ""

    def applied(
        self, items: Sequence[TodoItem], seen: Sequence[TodoItem], policy: TodoPolicy, language: Language
    ) -> list[TodoItem]:
        """The list after the edit; fields that the user does not enter are set by `filled`.

        `seen` is the list that the user had in view: a reword, tick, skip or removal of an item whose text
        has changed since is refused. So is a change of an item that is gone, if it is more than to take it
        out. For a restore it is the last list with the item, which is put back in its place.

        Raises EditError.
        """
        if self.action == "add":
            if self.new and _index_of(self.new, items) is not None:
                return [*items]  # a browser may repeat a request
            status = Status.COMPLETED if self.done else Status.PENDING
            listed = [*items, TodoItem(_words(self.text), status, id=self.new or new_id())]
            _check(listed, policy, language)
            return listed
        index = _index_of(self.item, items)
        if self.action == "restore":
            return self._restored(items, seen, policy, language) if index is None else [*items]
        if index is None and self.action in ("skip", "remove"):
            return [*items]  # a browser may repeat a request
        if index is None:
            raise EditError("gone")
        if self.action in ("up", "down", "move"):
            return _moved(items, index, {"up": index - 1, "down": index + 1}.get(self.action, self.place))
        item = items[index]
        words = _words(self.text) if self.action == "reword" else ""
        if item.content not in (words, *(previous.content for previous in seen if previous.id == item.id)):
            raise EditError("changed", item)
        return [*items[:index], *self._changed(item, words), *items[index + 1 :]]

    def _restored(
        self, items: Sequence[TodoItem], seen: Sequence[TodoItem], policy: TodoPolicy, language: Language
    ) -> list[TodoItem]:
        place = _index_of(self.item, seen)
        if place is None:
            raise EditError("gone")
        listed = [*items[:place], _not_in_progress(seen[place]), *items[place:]]
        _check(listed, policy, language)
        return listed

    def _changed(self, item: TodoItem, words: str) -> list[TodoItem]:
        match self.action:
            case "skip" | "remove":
                return []
            case "tick":
                return [replace(item, status=Status.COMPLETED)]
            case "untick":
                done = item.status is Status.COMPLETED
                return [replace(item, status=Status.PENDING) if done else item]
            case _:
                return [item if words == item.content else replace(item, content=words, active_form="")]


def _index_of(item_id: str, items: Sequence[TodoItem]) -> int | None:
    return next((index for index, item in enumerate(items) if item.id == item_id), None)


def filled(items: Sequence[TodoItem], policy: TodoPolicy) -> list[TodoItem]:
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
    if len(words) > MAX_ITEM_LENGTH:
        raise EditError("long")
    return words


def _check(items: Sequence[TodoItem], policy: TodoPolicy, language: Language) -> None:
    try:
        Reader(policy, language).check(items)
    except TodoError as error:
        raise EditError(error.kind) from None


def _moved(items: Sequence[TodoItem], index: int, to: int) -> list[TodoItem]:
    rest = [*items[:index], *items[index + 1 :]]
    rest.insert(min(max(to, 0), len(rest)), items[index])
    return rest


def merged(
    written: Sequence[TodoItem], edited: Sequence[TodoItem], known: Sequence[TodoItem]
) -> tuple[TodoItem, ...]:
    """Merge the list that the model wrote with the user's edits; the user's changes win.

    `known` is the list that the model had in view as it wrote `written`; `edited` is that list with the
    user's edits. All three use the same ids for the same items. Item by item:

    - items that the user skipped or removed stay out; ticks, unticks and rewordings by the user stay, even if
      the model left the item out; for everything else the model's state, words and removals count;
    - items that the user added stay after the item that they were put after; if the model added an item with
      the same text, the two become one;
    - if the user changed the order, items in both lists keep the user's order.

    At most one item is in progress: the model's. The result may exceed the policy's limit, as no item of the
    user is dropped; the limit then applies to the next list.
    """
    edited_by_id, known_by_id = _by_id(edited), _by_id(known)
    added = [item for item in edited if item.id not in known_by_id]
    # An item that the user left alone may have a state that the policy does not have.
    free = [replace(item, policy=None) for item in written]
    model = [item if item.id in known_by_id else _as_added(item, added) for item in free]
    items = [
        _merged_item(item, edited_by_id.get(item.id), known_by_id.get(item.id))
        for item in model
        if item.id in edited_by_id or item.id not in known_by_id
    ]
    items = _in_order(items, edited, known)
    has_active = any(item.status is Status.IN_PROGRESS for item in items)
    listed = {item.id for item in items}
    for index, item in enumerate(edited):
        if item.id not in listed and _is_edited(item, known_by_id.get(item.id)):
            ahead = {other.id for other in edited[:index]}
            position = max((at for at, other in enumerate(items, 1) if other.id in ahead), default=0)
            items.insert(position, _not_in_progress(item) if has_active else item)
            has_active = has_active or item.status is Status.IN_PROGRESS
    return tuple(items)


def with_edits_kept(
    new: Sequence[TodoItem], edited: Sequence[TodoItem], written: Sequence[TodoItem]
) -> tuple[TodoItem, ...]:
    """The list that the model writes with the user's edits, as far as it repeats what it wrote before them.

    `written` is the list that the model wrote last, `edited` that list with the user's edits, of which it was
    told. An item with the same words as in `written` stays out if the user skipped or removed it, and gets
    the words that the user gave it; the user's tick stays if its state is the same, too. The user's order
    stays if the items are in the same order.
    """
    edited_by_id, written_by_id = _by_id(edited), _by_id(written)
    items = []
    for item in new:
        last, mine = written_by_id.get(item.id), edited_by_id.get(item.id)
        if last is None or item.content != last.content:
            items.append(item)
        elif mine is not None:
            if mine.content != last.content:
                item = replace(item, content=mine.content, active_form=mine.active_form)
            is_repeated = item.status == last.status is not Status.COMPLETED
            if is_repeated and mine.status is Status.COMPLETED:
                item = replace(item, status=Status.COMPLETED)
            items.append(item)
    return tuple(_in_order(items, edited, written) if _is_same_order(new, written) else items)


def _by_id(items: Sequence[TodoItem]) -> dict[str, TodoItem]:
    return {item.id: item for item in items}


def _as_added(item: TodoItem, added: list[TodoItem]) -> TodoItem:
    match = next((each for each in added if each.content == item.content), None)
    if match is None:
        return item
    added.remove(match)
    return replace(item, id=match.id, key=match.key or item.key)


def _merged_item(item: TodoItem, edited: TodoItem | None, known: TodoItem | None) -> TodoItem:
    if edited is None:
        return item
    if known is None:
        return replace(item, status=edited.status) if edited.status is Status.COMPLETED else item
    if edited.content != known.content:
        item = replace(item, content=edited.content, active_form=edited.active_form)
    if (edited.status is Status.COMPLETED) != (known.status is Status.COMPLETED):
        item = replace(item, status=edited.status)
    return item


def _is_edited(item: TodoItem, known: TodoItem | None) -> bool:
    if known is None or item.content != known.content:
        return True
    return (item.status is Status.COMPLETED) != (known.status is Status.COMPLETED)


def _not_in_progress(item: TodoItem) -> TodoItem:
    return replace(item, status=Status.PENDING) if item.status is Status.IN_PROGRESS else item


def _in_order(items: list[TodoItem], edited: Sequence[TodoItem], known: Sequence[TodoItem]) -> list[TodoItem]:
    if _is_same_order(edited, known):
        return items
    after = [item.id for item in edited]
    shared = [item for item in items if item.id in after]
    ordered = iter(sorted(shared, key=lambda item: after.index(item.id)))
    return [next(ordered) if item.id in after else item for item in items]


def _is_same_order(one: Sequence[TodoItem], other: Sequence[TodoItem]) -> bool:
    """Whether the items that both lists have are in the same order."""
    ids, others = [item.id for item in one], [item.id for item in other]
    return [id_ for id_ in ids if id_ in others] == [id_ for id_ in others if id_ in ids]


_SEPARATORS: dict[Language, str] = {"en": "; ", "zh": "；"}


def changes_of(before: Sequence[TodoItem], after: Sequence[TodoItem], language: Language) -> str:
    return _SEPARATORS[language].join(_changes(before, after, language))


def _changes(before: Sequence[TodoItem], after: Sequence[TodoItem], language: Language) -> Iterator[str]:
    old, new = {item.id: item for item in before}, {item.id: item for item in after}
    for item in before:
        if item.id not in new:
            yield phrase(language, "edit.skipped", content=item.content)
    for item in after:
        previous = old.get(item.id)
        if previous is None:
            which = "edit.added_done" if item.status is Status.COMPLETED else "edit.added"
            yield phrase(language, which, content=item.content)
            continue
        if item.content != previous.content:
            yield phrase(language, "edit.reworded", before=previous.content, content=item.content)
        if (item.status is Status.COMPLETED) != (previous.status is Status.COMPLETED):
            which = "edit.ticked" if item.status is Status.COMPLETED else "edit.reopened"
            yield phrase(language, which, content=item.content)
    if not _is_same_order(before, after):
        yield phrase(language, "edit.reordered")
