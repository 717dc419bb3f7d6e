"""The todo panel as the page shows it."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chat.models import Conversation, TodoRevision, Turn
from chat.models.todo_revision import TodoCounts
from chat.plan.difference import Line, lines_of
from chat.plan.evidence import Evidence, evidence_of
from chat.plan.history import latest_plan_of

Item = dict[str, Any]


@dataclass(frozen=True)
class TodoPanel(TodoCounts):
    """A list and its turn; open while that turn works.

    `phase` is "working", "ended", or "past" if the list is finished or dismissed and a later turn has none.
    `revision` is 0 for a first draft: a list that is still being written. `earlier` are the plan's lines, if
    the user has skipped items. After the end, `evidence` is by item id, and the list may be `dismissed`.
    """

    conversation_id: uuid.UUID
    turn_id: int
    phase: str
    items: Sequence[Item]
    cut_off: bool = False
    revision: int = 0
    earlier: Sequence[Line] = ()
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    dismissed: bool = False
    is_draft: bool = False

    @property
    def is_open(self) -> bool:
        return self.phase == "working"

    @property
    def shown(self) -> list[Item]:
        """The items, and in their places those that the user skipped, with the status "skipped".

        A skipped item is left out once the agent adds one with its text, also if that is skipped later.
        """
        if not (lines := carried_on(self.items, self.earlier)):
            return [*self.items]
        return [
            {**line.item, "status": "skipped"} if line.is_removed else {**line.item}
            for line in lines
            if not line.is_removed or (line.skipped and not line.relisted)
        ]


def carried_on(items: Sequence[Item], lines: Sequence[Line]) -> list[Line]:
    """The lines of a plan with its next list; none if these items begin a new plan."""
    listed = {line.item["id"] for line in lines if not line.is_removed}
    goes_on = not items or any(item["id"] in listed for item in items)
    return lines_of(items, lines) if goes_on else []


def panel_of(conversation: Conversation) -> TodoPanel | None:
    """The panel of the latest list; None if there is none, or an empty one of an ended turn.

    One whose last items the user skipped is shown, so that these can be restored.
    """
    revision = conversation.revision()
    if revision is None:
        return None
    turn = _owner_of(revision, conversation).turn if revision.afterwards else revision.turn
    shown = panel(turn, revision.items, revision.pk, emptied=revision.has_skips or bool(revision.skipped))
    if shown is None or (shown.is_open and not revision.has_skips):
        return shown
    plan = latest_plan_of(conversation)
    if plan is None:
        return shown
    evidence = {} if shown.is_open else evidence_of(plan)
    dismissed = revision.dismissed and not shown.is_open
    whole = replace(shown, earlier=plan.latest.lines, evidence=evidence, dismissed=dismissed)
    return whole if whole.is_open or whole.shown else None


def _owner_of(edit: TodoRevision, conversation: Conversation) -> TodoRevision:
    """The revision whose turn has the panel: edits after the end do not move it.

    It is the latest one made while its turn worked, else the first.
    """
    revisions = conversation.path_revisions.select_related("turn").order_by("pk")
    return revisions.filter(afterwards=False).last() or revisions.first() or edit


def drafted(items: Sequence[Item], listed: Sequence[Item], kept: Collection[str] = frozenset()) -> list[Item]:
    """What to show while a list is being written over the `listed` one.

    Items not reached yet stay as they were, or each rewrite would shrink the list and clear check marks.
    Those with the ids `kept`, which the agent cannot drop, stay after the items that they were put after.
    """
    known = {item["id"]: item for item in listed}
    reached = {item["id"] for item in items}
    waiting = {item["id"] for item in listed if item["id"] in kept} - reached
    own = [item for item in listed if item["id"] not in waiting]
    rest = [item for item in own[len(items) :] if item["id"] not in reached]
    shown = [*items[:-1], known.get(items[-1]["id"], items[-1]), *rest]
    places = {item["id"]: place for place, item in enumerate(shown)}
    behind: dict[int, list[Item]] = defaultdict(list)  # those that wait, by the place that they come after
    place = -1
    for item in listed:
        if item["id"] in waiting:
            behind[place].append(item)
        else:
            place = max(place, places.get(item["id"], -1))
    return behind[-1] + [each for place, item in enumerate(shown) for each in (item, *behind[place])]


def panel(
    turn: Turn,
    items: Sequence[Item],
    revision: int = 0,
    earlier: Sequence[Line] = (),
    *,
    emptied: bool = False,
    is_draft: bool = False,
) -> TodoPanel | None:
    if not items and not turn.is_active and not emptied:
        return None
    ended_badly = turn.status in (Turn.Status.STOPPED, Turn.Status.FAILED, Turn.Status.INTERRUPTED)
    phase = "working" if turn.is_active else "ended"
    return TodoPanel(
        turn.conversation_id, turn.pk, phase, items, ended_badly, revision, earlier, is_draft=is_draft
    )
