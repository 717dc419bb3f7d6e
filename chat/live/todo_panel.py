"""The todo panel as the page shows it: which list, of which turn, open or not."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chat.models import Conversation, TodoRevision, Turn
from chat.plan.evidence import Evidence, evidence_of
from chat.plan.history import latest_plan_of

Item = dict[str, Any]


@dataclass(frozen=True)
class TodoPanel:
    """A list and the turn that it belongs to; open while that turn works, whatever is unfinished after.

    It is that of `revision`, which a change of the person's names; 0 for one that is still being written for
    the first time. Once it has ended there is `evidence` of its items, by their ids.
    """

    conversation_id: uuid.UUID
    turn_id: int
    phase: str
    items: Sequence[Item]
    cut_off: bool = False
    revision: int = 0
    evidence: Mapping[str, Evidence] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """Whether the list is shown unfolded."""
        return self.phase == "working"

    @property
    def total(self) -> int:
        """How many items there are."""
        return len(self.items)

    @property
    def done(self) -> int:
        """How many of them are completed."""
        return sum(item["status"] == "completed" for item in self.items)

    @property
    def current(self) -> Item | None:
        """The item that is worked on, else the next one."""
        for status in ("in_progress", "pending"):
            for item in self.items:
                if item["status"] == status:
                    return item
        return None


def panel_of(conversation: Conversation) -> TodoPanel | None:
    """The panel of a conversation's latest list; None when it never had one, or an empty one that ended."""
    revision = conversation.revision()
    if revision is None:
        return None
    turn = _before_it_ended(conversation, revision).turn if revision.afterwards else revision.turn
    shown = panel(turn, revision.items, revision.pk)
    if shown is None or shown.is_open:
        return shown
    plan = latest_plan_of(conversation)
    return replace(shown, evidence=evidence_of(plan)) if plan else shown


def _before_it_ended(conversation: Conversation, revision: TodoRevision) -> TodoRevision:
    """The latest one of a turn at work: what the person changes afterwards leaves the panel in its place."""
    at_work = conversation.revisions.filter(afterwards=False).select_related("turn")
    return at_work.order_by("pk").last() or revision


def drafted(items: Sequence[Item], listed: Sequence[Item]) -> list[Item]:
    """What to show while a list is being written in place of the `listed` one.

    What it has not reached yet stays in view as it was, the item that is being written included, or the list
    would shrink, and ticks vanish, at every rewrite.
    """
    known = {item["id"]: item for item in listed}
    reached = {item["id"] for item in items}
    rest = [item for item in listed[len(items) :] if item["id"] not in reached]
    return [*items[:-1], known.get(items[-1]["id"], items[-1]), *rest]


def panel(turn: Turn, items: Sequence[Item], revision: int = 0) -> TodoPanel | None:
    """The panel of a list that `turn` wrote; that of a revision where it is written down."""
    if not items and not turn.is_active:
        return None
    ended_badly = turn.status in (Turn.Status.STOPPED, Turn.Status.FAILED, Turn.Status.INTERRUPTED)
    phase = "working" if turn.is_active else "ended"
    return TodoPanel(turn.conversation_id, turn.pk, phase, items, cut_off=ended_badly, revision=revision)
