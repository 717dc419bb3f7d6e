"""Whose lease is over, judged by looking again and again: no two clocks are compared, and none is trusted."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chat.models.turn import Turn

LOOKS = 4  # after the first, at which a turn whose worker lives has shown a sign of it
BETWEEN = 1.5  # seconds that must lie between two looks for the second to count


@dataclass(frozen=True)
class Sighting:
    """A turn as it was seen: the mark that its worker's every sign of life changes, and how often since."""

    mark: tuple[object, ...]
    looks: int
    at: float


class Lookout:
    """One worker's view of the turns that others hold. It is to look every `turn.LEASE / LOOKS` or so.

    Looks are counted rather than seconds, so that a lease does not run out while nobody could renew it:
    while the database, or the whole machine, stood still.
    """

    def __init__(self) -> None:
        self._seen: dict[int, Sighting] = {}

    def overdue(self, held: Sequence[Turn]) -> list[Turn]:
        """Those of the turns, which are all that are held just now, that went without a sign of life."""
        now = time.monotonic()
        self._seen = {turn.pk: self._sighting(turn, now) for turn in held}
        return [turn for turn in held if self._seen[turn.pk].looks >= LOOKS]

    def _sighting(self, turn: Turn, now: float) -> Sighting:
        mark = (turn.fence, turn.lease_until)
        before = self._seen.get(turn.pk)
        if before is None or before.mark != mark:
            return Sighting(mark, 0, now)
        if now - before.at < BETWEEN:
            return before
        return Sighting(mark, before.looks + 1, now)
