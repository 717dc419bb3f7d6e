"""A list that the model wrote before it was told what the person had changed, and those changes, in one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chat.agent.todo.item import TodoItem
from chat.agent.todo.policy import Status


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
