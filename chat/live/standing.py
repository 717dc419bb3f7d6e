"""How conversations stand, looked up now and then for all open tabs of this process together.

Frames are hints; this is what finds out that one of them, the last one too, never came. However many tabs
are open, a look is a handful of queries.
"""

from __future__ import annotations

import uuid
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from channels.db import database_sync_to_async
from django.db.models import OuterRef, Subquery

from chat.live.attention import Attention, attention_of
from chat.live.beside import Beside, beside
from chat.live.frames import Position, resting_place
from chat.live.rounds import Rounds
from chat.models import Conversation, Turn


@dataclass(frozen=True)
class Standing:
    """What a tab must show by the rows: the latest turn, how many wait before it, all beside the turns,
    and what wants the attention of its owner.

    `is_held` says that a worker is at the turn, and so is to be heard.
    """

    position: Position
    is_held: bool
    ahead: int | None
    beside: Beside
    attention: Attention
    exists: bool = True


GONE = Standing((0, 0, 0), False, None, Beside(), Attention(), exists=False)


class Tab(Protocol):
    """Somebody who wants to know how a conversation stands."""

    conversation: Conversation

    def see(self, standing: Standing) -> None:
        """Take in how it stands. Returns at once."""


class Overview(Rounds[Tab]):
    """Tells the tabs how their conversations stand."""

    async def look(self) -> None:
        """See how all of them stand."""
        keys = {tab.conversation.pk for tab in self.tabs}
        standings = await database_sync_to_async(standings_of)(keys)
        for tab in list(self.tabs):
            if tab.conversation.pk in keys:
                tab.see(standings.get(tab.conversation.pk, GONE))


def standings_of(keys: Iterable[uuid.UUID]) -> dict[uuid.UUID, Standing]:
    """How these conversations stand; one that does not exist is left out."""
    latest = Turn.objects.filter(conversation=OuterRef("pk")).order_by("-pk")
    found = Conversation.objects.filter(pk__in=keys)
    rows = list(found.values_list("pk", "owner", Subquery(latest.values("pk")[:1])))
    turns = Turn.objects.in_bulk([turn for _pk, _owner, turn in rows if turn])
    all_beside = beside(pk for pk, _owner, _turn in rows)
    attention = attention_of(owner for _pk, owner, _turn in rows)
    queue = _queue() if any(turn.status == Turn.Status.QUEUED for turn in turns.values()) else []
    return {
        key: Standing(
            resting_place(turn),
            bool(turn and turn.is_held),
            _ahead(turn, queue),
            all_beside.get(key, Beside()),
            attention[owner],
        )
        for key, owner, turn in ((key, owner, turns.get(pk)) for key, owner, pk in rows)
    }


def _queue() -> list[int]:
    waiting = Turn.objects.filter(status=Turn.Status.QUEUED).order_by("pk")
    return list(waiting.values_list("pk", flat=True))


def _ahead(turn: Turn | None, queue: list[int]) -> int | None:
    """How many wait before a turn that waits."""
    return bisect_left(queue, turn.pk) if turn and turn.status == Turn.Status.QUEUED else None
