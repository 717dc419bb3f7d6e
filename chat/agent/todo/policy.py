"""The rules that a todo list obeys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """How far an item is."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


_THREE = {"pending": Status.PENDING, "in_progress": Status.IN_PROGRESS, "completed": Status.COMPLETED}
_TWO = {"pending": Status.PENDING, "completed": Status.COMPLETED}
_DONE = {"pending": Status.PENDING, "in_progress": Status.IN_PROGRESS, "done": Status.COMPLETED}


@dataclass(frozen=True)
class TodoPolicy:
    """What an item needs, which states it has, how many there may be, and when the model is reminded.

    `states` maps the model's words to what they mean. `remind_after` counts rounds: calls of the model that
    asked for tools and wrote no list.
    """

    name: str
    argument: str
    text_field: str
    states: Mapping[str, Status]
    remind_after: int
    max_items: int = 20
    has_key: bool = False
    has_active_form: bool = False
    status_required: bool = False
    shows_count: bool = True

    def __post_init__(self) -> None:
        if self.max_items < 1 or self.remind_after < 1:
            raise ValueError("a todo policy needs room for one item and a reminder after one round at least")

    @property
    def VALID_STATUSES(self) -> tuple[str, ...]:  # noqa: N802 (the name in the descriptions of such agents)
        """The words that an item's status may be."""
        return tuple(self.states)

    @property
    def fields(self) -> list[str]:
        """The fields of an item, in the order in which they are checked."""
        key, active_form = ["id"] * self.has_key, ["activeForm"] * self.has_active_form
        return [*key, self.text_field, "status", *active_form]

    @property
    def required(self) -> list[str]:
        """The fields that an item must have."""
        return [name for name in self.fields if name != "status" or self.status_required]

    def word(self, status: Status) -> str:
        """The word that the model uses for a state."""
        return next(word for word, meaning in self.states.items() if meaning is status)


FOCUSED = TodoPolicy(
    name="focused",
    argument="items",
    text_field="content",
    states=_THREE,
    remind_after=11,
    has_active_form=True,
    status_required=True,
)
LEAN = TodoPolicy(name="lean", argument="todos", text_field="content", states=_TWO, remind_after=10)
CHECKLIST = TodoPolicy(
    name="checklist",
    argument="items",
    text_field="text",
    states=_DONE,
    remind_after=3,
    has_key=True,
    shows_count=False,
)

POLICIES = {policy.name: policy for policy in (FOCUSED, LEAN, CHECKLIST)}


def as_policy(policy: str | TodoPolicy) -> TodoPolicy:
    """The policy itself, or the one of that name; raises ValueError for a name that is none."""
    if isinstance(policy, TodoPolicy):
        return policy
    if policy not in POLICIES:
        raise ValueError(f"unknown todo policy {policy!r}; there are: {', '.join(POLICIES)}")
    return POLICIES[policy]
