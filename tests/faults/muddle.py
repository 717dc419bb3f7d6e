"""What becomes of messages on a way that loses some, doubles some, and lets some overtake others."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Generic, TypeVar

M = TypeVar("M")

SHARE = 0.1  # of the messages that are lost; as many are doubled, and as many come behind the next one
LAST = 0.3  # of the last ones


class Muddle(Generic[M]):
    """Chance by a seed. Of messages that are `last`, which no other follows, more are lost."""

    def __init__(self, seed: str, last: Callable[[M], bool]) -> None:
        self.chance = random.Random(seed)
        self.last = last
        self.late: M | None = None

    def __call__(self, message: M) -> list[M]:
        """What goes on now that `message` has come."""
        behind, self.late = self.late, None
        return self._fate(message) + ([] if behind is None else [behind])

    def _fate(self, message: M) -> list[M]:
        if self.last(message) and self.chance.random() < LAST:
            return []
        draw = self.chance.random() / SHARE
        if draw < 1:
            return []
        if draw < 2:
            return [message, message]
        if draw < 3:
            self.late = message
            return []
        return [message]
