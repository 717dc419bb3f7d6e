"""The plans of a conversation, each with its part of the timeline."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from chat.models import Conversation, Turn
from chat.plan.timeline import Entry, Revision, timeline_of


@dataclass
class Plan:
    number: int
    entries: list[Entry] = field(default_factory=list)
    followed_by: Revision | None = None
    """The first revision of the next plan, if it is in the same turn."""

    @cached_property
    def revisions(self) -> list[Revision]:
        return [entry for entry in self.entries if isinstance(entry, Revision)]

    @property
    def latest(self) -> Revision:
        return self.revisions[-1]

    @property
    def is_taken_back(self) -> bool:
        """Whether the user removed all of its items."""
        row = self.latest.row
        return row.is_by_user and not row.items and not any(line.skipped for line in self.latest.lines)

    def entries_until_next(self, revision: Revision) -> tuple[list[Entry], Revision | None]:
        """The entries until the next revision, and that revision if it is in the same turn."""
        next_revision = next((each for each in self.revisions if each.number > revision.number), None)
        if next_revision is None:
            return self.entries, self.followed_by
        end = next(index for index, entry in enumerate(self.entries) if entry is next_revision)
        return self.entries[:end], next_revision


def plans_of(conversation: Conversation) -> list[Plan]:
    """The plans, oldest first. A list that shares no item with the plan so far starts a new one, unless the
    user adds to items that were skipped.

    A plan covers the turns from its first revision to its last. If two plans meet in one turn, the entries
    between them belong to the earlier one.
    """
    return plans_in(timeline_of(conversation))


def latest_plan_of(conversation: Conversation) -> Plan | None:
    """The latest plan. The arguments of its calls are not loaded, and its number is not meaningful."""
    plans = plans_in(timeline_of(conversation, latest=True))
    return plans[-1] if plans else None


def plans_in(entries: Iterable[Entry]) -> list[Plan]:
    plans: list[Plan] = []
    pending: list[Entry] = []
    for entry in entries:
        if not isinstance(entry, Revision):
            pending.append(entry)
        elif plans and plans[-1].number == entry.plan:
            plans[-1].entries += [*pending, entry]
            pending = []
        else:
            others = _finish(plans, pending)
            if plans and plans[-1].entries[-1].turn == entry.turn:
                plans[-1].followed_by = entry
            plans.append(Plan(entry.plan, [*_in_turn(entry.turn, others), entry]))
            pending = []
    _finish(plans, pending)
    return plans


def _finish(plans: list[Plan], pending: list[Entry]) -> list[Entry]:
    """Add the rest of its last turn to the latest plan; returns the other entries."""
    if not plans:
        return pending
    turn = plans[-1].entries[-1].turn
    plans[-1].entries += _in_turn(turn, pending)
    return [entry for entry in pending if entry.turn != turn]


def _in_turn(turn: Turn, entries: list[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.turn == turn]
