"""The plans of a conversation, each with its part of the timeline."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

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

    A plan covers the turns from its first list to the last in which the agent wrote one, and of the later
    turns those in which the user changed it while they ran, or that "Continue" began, unless the agent began
    another plan in it. A change between turns belongs to the plan, but never extends the turns it covers. If
    two plans meet in one turn, the entries between them belong to the earlier one.
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
            others = _finish(plans, pending, entry)
            if plans and plans[-1].entries[-1].turn == entry.turn:
                plans[-1].followed_by = entry
            plans.append(Plan(entry.plan, [*_in_turn(entry.turn, others), entry]))
            pending = []
    _finish(plans, pending)
    return plans


def _finish(plans: list[Plan], pending: list[Entry], next_list: Revision | None = None) -> list[Entry]:
    """Leave the latest plan the entries of the turns that it covers; returns the other entries."""
    if not plans:
        return pending
    entries = [*plans[-1].entries, *pending]
    worked = _turns_worked(entries, next_list)
    covered, others = list[Entry](), list[Entry]()
    for entry in entries:
        is_covered = isinstance(entry, Revision) or entry.turn.pk in worked
        (covered if is_covered else others).append(entry)
    plans[-1].entries = covered
    return others


def _turns_worked(entries: list[Entry], next_list: Revision | None) -> set[int]:
    """The keys of the turns that a plan with these entries covers, see `plans_of`."""
    lists = [entry for entry in entries if isinstance(entry, Revision)]
    written = [entry.turn.pk for entry in lists if not entry.row.is_by_user]
    last = max(written, default=lists[0].turn.pk)
    turns = {entry.turn.pk: entry.turn for entry in entries}
    worked = {pk for pk in turns if pk <= last}
    worked |= {entry.turn.pk for entry in lists if not entry.row.afterwards}
    begins_another = next_list.turn.pk if next_list and not next_list.row.is_by_user else None
    for before, turn in pairwise(turns.values()):
        goes_on = turn.client_id == before.retry_id and before.pk in worked
        if turn.pk != begins_another and (goes_on or turn.client_id == before.continue_id):
            worked.add(turn.pk)
    return worked


def _in_turn(turn: Turn, entries: list[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.turn == turn]
