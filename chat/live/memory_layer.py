"""The channel layer of a single process."""

from __future__ import annotations

import time

from channels.layers import InMemoryChannelLayer


class MemoryLayer(InMemoryChannelLayer):
    """Channels' own, which looks for expired messages at every send and receive; once a second is enough."""

    _next_look = 0.0

    def _clean_expired(self) -> None:
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + 1
            super()._clean_expired()
