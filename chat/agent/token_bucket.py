"""Limits a rate."""

from __future__ import annotations

import time


class TokenBucket:
    """Allows `burst` at once, and `rate` per second after that."""

    def __init__(self, burst: float, rate: float) -> None:
        self._burst, self._rate = burst, rate
        self._left = burst
        self._refilled_at = time.monotonic()

    def take(self, amount: float = 1) -> bool:
        """Take the amount; False if there was not enough left."""
        now = time.monotonic()
        self._left = min(self._burst, self._left + (now - self._refilled_at) * self._rate) - amount
        self._refilled_at = now
        return self._left >= 0
