"""One planned item."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """How far an item is."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


@dataclass(frozen=True)
class TodoItem:
    """One item of a list: what is to be done and how far it is.

    `id` is the program's and stays with the item through later lists; `key` is the id that the model chose,
    under a policy that has one; `active_form` says it as something being done ("Reading the files").
    """

    content: str
    status: Status = Status.PENDING
    active_form: str = ""
    key: str = ""
    id: str = ""

    def as_dict(self) -> dict[str, str]:
        """The item as it is stored: plain text values."""
        return {name: str(value) for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> TodoItem:
        """The item that `as_dict` wrote."""
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
