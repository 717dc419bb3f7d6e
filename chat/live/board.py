"""A person's board: what works or waits, what has ended unseen, what was left unfinished."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _

from chat.live.outline import Outline, Place, outline_of
from chat.live.todo_panel import TodoPanel, panel
from chat.models import TodoRevision, ToolCall, Turn


@dataclass(frozen=True)
class BoardRow:
    """A conversation on the board, with what its row tells: its latest turn, its list, what it waits for."""

    place: Place
    turn: Turn
    plan: TodoPanel | None = None
    call: ToolCall | None = None

    @property
    def since(self) -> datetime.datetime:
        """Since when it has been as it is."""
        if self.call and self.call.asked_at:
            return self.call.asked_at
        return self.turn.ended_at or self.turn.started_at or self.turn.created_at


@dataclass(frozen=True)
class Board:
    """The three sections, and the outline that they were drawn from."""

    outline: Outline
    running: list[BoardRow]
    unseen: list[BoardRow]
    unfinished: list[BoardRow]

    @property
    def title(self) -> str:
        """What its tab is called: with the number of conversations that want the person to come."""
        wanted = self.outline.attention.wanted
        return f"({wanted}) {_('Board')}" if wanted else _("Board")


def board_of(owner_id: int) -> Board:
    """The board as the rows tell it, in ten queries at most however much is on it."""
    return filled(outline_of(owner_id))


def filled(outline: Outline) -> Board:
    """The board of that outline, in three queries."""
    places = [*outline.running, *outline.unseen, *outline.unfinished]
    turns = Turn.objects.defer("profile_then").in_bulk([each.turn_id for each in places])
    lists = TodoRevision.objects.select_related("turn").in_bulk(
        [each.revision_id for each in places if each.revision_id]
    )
    calls = _waiting_calls(outline.running)

    def rows(section: Iterable[Place]) -> list[BoardRow]:
        return [
            BoardRow(each, turns[each.turn_id], _plan(each, lists), calls.get(each.turn_id))
            for each in section
            if each.turn_id in turns  # one may be deleted meanwhile
        ]

    return Board(outline, rows(outline.running), rows(outline.unseen), rows(outline.unfinished))


def _waiting_calls(running: Iterable[Place]) -> dict[int, ToolCall]:
    """What is asked in the turns that wait, by turn."""
    waiting = [each.turn_id for each in running if each.status == Turn.Status.WAITING]
    if not waiting:
        return {}
    asked = ToolCall.objects.filter(turn__in=waiting, status=ToolCall.Status.WAITING)
    return {call.turn_id: call for call in asked.select_related("turn", "step")}


def _plan(place: Place, lists: dict[int, TodoRevision]) -> TodoPanel | None:
    """The list of the turn, or one of an earlier turn that is not over and done with."""
    revision = lists.get(place.revision_id or 0)
    if revision is None or not (revision.turn_id == place.turn_id or place.left):
        return None
    return panel(revision.turn, revision.items)
