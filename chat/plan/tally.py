"""A tally: figures that add up, by the names of models.plan_figures.COUNTS."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Tally:
    """Counts, refused lists by reason, and the seconds that each timed item took."""

    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take the other's figures in."""
        self.counts.update(other.counts)
        self.reasons.update(other.reasons)
        self.seconds += other.seconds
