"""A share of a whole, and how sure it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

ENOUGH = 5  # below it a share is a count and no percentage
_Z = 1.959964  # of a normal distribution: 95 % lie within so many standard deviations


@dataclass(frozen=True)
class Share:
    """So many of so many."""

    part: int
    whole: int

    @property
    def is_enough(self) -> bool:
        """Whether there are enough for a percentage to say something."""
        return self.whole >= ENOUGH

    @property
    def percent(self) -> float:
        """The percentage; 0 of nothing."""
        return 100 * self.part / self.whole if self.whole else 0.0

    @property
    def low(self) -> float:
        """The lower end of the interval, in percent."""
        return self._interval[0]

    @property
    def high(self) -> float:
        """The upper end of the interval, in percent."""
        return self._interval[1]

    @cached_property
    def _interval(self) -> tuple[float, float]:
        """The 95 % interval by Wilson (1927), in percent: honest also for few, and near none and all."""
        if not self.whole:
            return 0.0, 100.0
        rate, square = self.part / self.whole, _Z * _Z / self.whole
        middle = (rate + square / 2) / (1 + square)
        spread = _Z * math.sqrt(rate * (1 - rate) / self.whole + square / self.whole / 4) / (1 + square)
        return 100 * max(0.0, middle - spread), 100 * min(1.0, middle + spread)
