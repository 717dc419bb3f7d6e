"""The rules of a todo list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


_THREE = {"pending": Status.PENDING, "in_progress": Status.IN_PROGRESS, "completed": Status.COMPLETED}
_TWO = {"pending": Status.PENDING, "completed": Status.COMPLETED}
_DONE = {"pending": Status.PENDING, "in_progress": Status.IN_PROGRESS, "done": Status.COMPLETED}


@dataclass(frozen=True)
class TodoPolicy:
    """Fields and limits of a list; `states` maps the model's words to statuses.

    `remind_after` counts rounds: model calls that requested tools without writing a list. On the site, a
    profile may have its own `max_items` and `remind_after`.
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
        return tuple(self.states)

    @property
    def fields(self) -> list[str]:
        key, active_form = ["id"] * self.has_key, ["activeForm"] * self.has_active_form
        return [*key, self.text_field, "status", *active_form]

    @property
    def required(self) -> list[str]:
        return [name for name in self.fields if name != "status" or self.status_required]

    def word(self, status: Status) -> str:
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
    """The policy itself, or the one with that name; raises ValueError for an unknown name."""
    if isinstance(policy, TodoPolicy):
        return policy
    if policy not in POLICIES:
        raise ValueError(f"unknown todo policy {policy!r}; there are: {', '.join(POLICIES)}")
    return POLICIES[policy]
