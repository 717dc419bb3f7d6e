"""A response's body that is read or made piece by piece, off the event loop."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Generator, Iterator

from asgiref.sync import sync_to_async

from chat.files.archive import PIECE


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


GATHERED = 64 * 1024  # characters gathered before they are sent


class RowsStream:
    """Gives what an iterator of texts gives; the first piece is there at once, so that a failure is answered.

    Rows are read in the thread of the request, as nowhere else its connection is given back in the end.
    """

    def __init__(self, texts: Iterator[str], gather: int = GATHERED) -> None:
        self._pieces = _gathered(texts, gather)
        self._first = next(self._pieces, b"")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        piece = self._first
        try:
            while piece:
                yield piece
                piece = await sync_to_async(self._next)()
        finally:  # here too if the client has left
            await sync_to_async(self._pieces.close)()

    def close(self) -> None:
        """Stop reading rows. Django calls it in the thread of the request."""
        self._pieces.close()

    def _next(self) -> bytes:
        return next(self._pieces, b"")


def _gathered(texts: Iterator[str], gather: int) -> Generator[bytes, None, None]:
    waiting: list[str] = []
    size = 0
    try:
        for text in texts:
            waiting.append(text)
            size += len(text)
            if size >= gather:
                yield "".join(waiting).encode()
                waiting, size = [], 0
    finally:
        if isinstance(texts, Generator):
            texts.close()
    if waiting:
        yield "".join(waiting).encode()
