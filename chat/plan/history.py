"""The plans of a conversation, each with its part of the story."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from chat.models import Conversation, Turn
from chat.plan.timeline import Entry, Revision, story


@dataclass
class Plan:
    """A list through its revisions, and what happened around them."""

    number: int
    entries: list[Entry] = field(default_factory=list)
    followed_by: Revision | None = None
    """The list that begins the next plan, where that is in the same turn."""

    @cached_property
    def revisions(self) -> list[Revision]:
        """Its revisions, oldest first; there is one at least."""
        return [entry for entry in self.entries if isinstance(entry, Revision)]

    @property
    def latest(self) -> Revision:
        """Its list as it was left."""
        return self.revisions[-1]

    def while_it_stood(self, revision: Revision) -> tuple[list[Entry], Revision | None]:
        """What happened until the list was written again, and the revision that did so, in the same turn."""
        following = next((each for each in self.revisions if each.number > revision.number), None)
        if following is None:
            return self.entries, self.followed_by
        end = next(place for place, entry in enumerate(self.entries) if entry is following)
        return self.entries[:end], following


def plans_of(conversation: Conversation) -> list[Plan]:
    """The conversation's plans, oldest first: a list that shares no item with the last one begins another.

    A plan tells all of the turns from its first revision to its last. Where two meet in one turn, what
    happened between them is the end of the earlier.
    """
    return plans_in(story(conversation))


def latest_plan_of(conversation: Conversation) -> Plan | None:
    """The latest of them; its calls are read without what they were given, and its number is of no use."""
    plans = plans_in(story(conversation, latest=True))
    return plans[-1] if plans else None


def plans_in(entries: Iterable[Entry]) -> list[Plan]:
    """The plans of a story, or of its beginning."""
    plans: list[Plan] = []
    waiting: list[Entry] = []
    for entry in entries:
        if not isinstance(entry, Revision):
            waiting.append(entry)
        elif plans and plans[-1].number == entry.plan:
            plans[-1].entries += [*waiting, entry]
            waiting = []
        else:
            rest = _finish(plans, waiting)
            if plans and plans[-1].entries[-1].turn == entry.turn:
                plans[-1].followed_by = entry
            plans.append(Plan(entry.plan, [*_of(entry.turn, rest), entry]))
            waiting = []
    _finish(plans, waiting)
    return plans


def _finish(plans: list[Plan], waiting: list[Entry]) -> list[Entry]:
    """Give the latest plan what is left of the turn of its last revision; gives the rest."""
    if not plans:
        return waiting
    turn = plans[-1].entries[-1].turn
    plans[-1].entries += _of(turn, waiting)
    return [entry for entry in waiting if entry.turn != turn]


def _of(turn: Turn, entries: list[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.turn == turn]
