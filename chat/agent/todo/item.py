"""One planned item."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chat.agent.todo.policy import Status, TodoPolicy, as_policy


@dataclass(frozen=True)
class TodoItem:
    """One item of a list: what to do, and its status.

    `id` is ours and stays with the item across lists; `key` is the id that the model chose, under a policy
    with keys; `active_form` words the task as in progress ("Reading the files"). `policy` is a policy or its
    name, if any; `status` may use its words. `by_user` is set while a turn works for items that the user has
    added to its list. Raises ValueError for an unknown status.
    """

    content: str
    status: Status = Status.PENDING
    active_form: str = ""
    key: str = ""
    id: str = ""
    policy: TodoPolicy | None = field(default=None, compare=False, repr=False)
    by_user: bool = field(default=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.policy is None and isinstance(self.status, Status):
            return
        policy = None if self.policy is None else as_policy(self.policy)
        states = policy.states if policy else {word.value: word for word in Status}
        word = self.status if isinstance(self.status, Status) else str(self.status).strip().lower()
        status = word if isinstance(word, Status) else states.get(word)
        if status not in states.values():
            rules = f"the todo policy {policy.name!r}" if policy else "a todo item"
            raise ValueError(f"{rules} has no status {str(word)!r}; there are: {', '.join(states)}")
        object.__setattr__(self, "status", status)
        object.__setattr__(self, "policy", policy)

    @property
    def word(self) -> str:
        return self.policy.word(self.status) if self.policy else self.status.value

    def as_dict(self) -> dict[str, str]:
        """The item as the model writes it under its policy; without a policy, same as `as_stored`."""
        if self.policy is None:
            return self.as_stored()
        fields = {
            "id": self.key,
            self.policy.text_field: self.content,
            "status": self.word,
            "activeForm": self.active_form,
        }
        return {name: value for name, value in fields.items() if name in self.policy.fields}

    def as_stored(self) -> dict[str, str]:
        return {
            "content": self.content,
            "status": self.status.value,
            "active_form": self.active_form,
            "key": self.key,
            "id": self.id,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> TodoItem:
        return cls(**{**stored, "status": Status(stored["status"])})


def new_id() -> str:
    return secrets.token_hex(4)


def with_stable_ids(
    new: Sequence[TodoItem],
    old: Sequence[TodoItem],
    fresh: Callable[[], str] = new_id,
    written: Sequence[TodoItem] = (),
) -> tuple[TodoItem, ...]:
    """The new items with the ids of the old items that they continue; the others get a `fresh` id.

    An item continues the old one with its key, else its text, else the text that it had in the list that the
    model wrote last (`written`), else its position if the lists overlap. Other words in the place of an item
    of the user's are another item. Of several with the same text, the first continues the first, and so on,
    of the list whose order the model repeats: `written`, if it is not the old one's. A list with none of the
    old items is another plan, whatever it has in common with `written`.
    """
    by_user = {item.id for item in old if item.by_user}
    ids = _continued(new, old, written) if old or written else [""] * len(new)
    if old and {item.id for item in old}.isdisjoint(ids):
        ids = [""] * len(new)
    elif any(ids):
        for index, previous in enumerate(old[: len(new)]):
            if not ids[index] and previous.id not in ids and not previous.by_user:
                ids[index] = previous.id
    return tuple(
        replace(item, id=id_ or fresh(), by_user=id_ in by_user) for item, id_ in zip(new, ids, strict=True)
    )


def _continued(new: Sequence[TodoItem], old: Sequence[TodoItem], written: Sequence[TodoItem]) -> list[str]:
    """The ids of the items that the new ones continue by key or text; "" for the others."""
    ids = [""] * len(new)
    repeated = {text for listed in (new, old, written) for text in _repeated(listed)}

    def is_same(item: TodoItem, previous: TodoItem) -> bool:
        return item.content == previous.content

    def assign_ids(listed: Sequence[TodoItem], continues: Callable[[TodoItem, TodoItem], bool]) -> None:
        for index, item in enumerate(new):
            same = (each.id for each in listed if each.id not in ids and continues(item, each))
            ids[index] = ids[index] or next(same, "")

    assign_ids(old, lambda item, previous: bool(item.key) and item.key == previous.key)
    order = [old, written]
    if repeated:
        assign_ids(old, lambda item, previous: is_same(item, previous) and item.content not in repeated)
        order.sort(key=lambda listed: not _repeats(new, listed))
    for listed in order:
        assign_ids(listed, is_same)
    return ids


def _repeated(items: Sequence[TodoItem]) -> set[str]:
    """The texts that several of the items have."""
    texts = [item.content for item in items]
    return set() if len(set(texts)) == len(texts) else {text for text, n in Counter(texts).items() if n > 1}


def _repeats(new: Sequence[TodoItem], old: Sequence[TodoItem]) -> bool:
    """Whether the texts that both lists have are in the same order, as often."""
    texts, others = [item.content for item in new], [item.content for item in old]
    return [text for text in texts if text in others] == [text for text in others if text in texts]
