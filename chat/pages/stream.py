"""A response's body that is read or made piece by piece, off the event loop."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Generator

from chat.files.reading import PIECE


class Stream:
    """Gives what a generator gives. The first piece is there at once, so that a failure is still an answer.

    `close` may come at any time, from any thread, also before the first piece was taken.
    """

    def __init__(self, pieces: Generator[bytes, None, None]) -> None:
        self._pieces = pieces
        self._lock = threading.Lock()
        self._first = next(pieces, b"")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        piece = self._first
        while piece:
            yield piece
            piece = await asyncio.to_thread(self._next)

    def close(self) -> None:
        """Let go of what the generator holds."""
        with self._lock:
            self._pieces.close()

    def _next(self) -> bytes:
        with self._lock:
            return next(self._pieces, b"")


def content(opened: int) -> Generator[bytes, None, None]:
    """The rest of the file behind a descriptor, which is closed in the end."""
    try:
        while piece := os.read(opened, PIECE):
            yield piece
    finally:
        os.close(opened)
