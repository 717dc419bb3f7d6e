"""How much a server may say."""

from __future__ import annotations

import time

BURST = 32 * 1024**2
RATE = 1024**2
"""Bytes a second that a server may go on writing, once the first burst is used up."""
PIECE = 4 * 1024
"""Bytes that even a shorter piece counts: reading many small ones costs more than a few large."""


class Allowance:
    """A bucket of bytes that fills again with time, for what arrives without end."""

    def __init__(self, burst: int = BURST, rate: int = RATE, piece: int = PIECE) -> None:
        self._burst, self._rate, self._piece = burst, rate, piece
        self._left: float = burst
        self._at = time.monotonic()

    def spend(self, size: int, pieces: int = 1) -> bool:
        """Take `size` bytes that came in so many pieces; False when there were not as many left."""
        now = time.monotonic()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        self._left -= max(size, self._piece * pieces)
        return self._left >= 0
