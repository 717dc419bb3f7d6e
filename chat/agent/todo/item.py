"""One planned item."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chat.agent.todo.policy import Status, TodoPolicy, as_policy


@dataclass(frozen=True)
class TodoItem:
    """One item of a list: what is to be done and how far it is.

    `id` is the program's and stays with the item through later lists; `key` is the id that the model chose,
    under a policy that has one; `active_form` says it as something being done ("Reading the files"). `policy`
    is the one whose list it is on, if any, or its name; `status` may be given in its words. Raises ValueError
    for a status that it does not have.
    """

    content: str
    status: Status = Status.PENDING
    active_form: str = ""
    key: str = ""
    id: str = ""
    policy: TodoPolicy | None = field(default=None, compare=False, repr=False)

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
        """The policy's word for the status."""
        return self.policy.word(self.status) if self.policy else self.status.value

    def as_dict(self) -> dict[str, str]:
        """The item as the model writes it under its policy; without one, as `as_stored` has it."""
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
        """All that is to be kept of the item, in the same form under every policy: plain text values."""
        return {
            "content": self.content,
            "status": self.status.value,
            "active_form": self.active_form,
            "key": self.key,
            "id": self.id,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> TodoItem:
        """The item that `as_stored` wrote."""
        return cls(**{**stored, "status": Status(stored["status"])})


def new_id() -> str:
    """An id that no other item has."""
    return secrets.token_hex(4)


def with_stable_ids(
    new: Sequence[TodoItem], old: Sequence[TodoItem], fresh: Callable[[], str] = new_id
) -> tuple[TodoItem, ...]:
    """The new items with the ids of the old ones that they continue.

    An item continues the old one with the same key, else the one with the same text, else, when the two lists
    have anything in common at all, the one that stood at its position. The rest get a `fresh` one.
    """
    ids: list[str] = [""] * len(new)
    free = list(old)

    def adopt(same: Any) -> None:
        for place, item in enumerate(new):
            found = next((was for was in free if not ids[place] and same(item, was)), None)
            if found:
                ids[place] = found.id
                free.remove(found)

    adopt(lambda item, was: bool(item.key) and item.key == was.key)
    adopt(lambda item, was: item.content == was.content)
    if any(ids):
        for place, was in enumerate(old[: len(new)]):
            if not ids[place] and was in free:
                ids[place] = was.id
                free.remove(was)
    return tuple(replace(item, id=ids[place] or fresh()) for place, item in enumerate(new))
