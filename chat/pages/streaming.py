"""Streamed response bodies that are read off the event loop."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Generator, Iterator

from asgiref.sync import sync_to_async

from chat.files.archive import CHUNK_SIZE


class Stream:
    """Streams a generator. Reads the first piece at once, so that an early failure still sets the status.

    `close` may be called at any time and from any thread, even before the first piece is taken.
    """

    def __init__(self, chunks: Generator[bytes, None, None]) -> None:
        self._pieces = chunks
        self._lock = threading.Lock()
        self._first = next(chunks, b"")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        piece = self._first
        while piece:
            yield piece
            piece = await asyncio.to_thread(self._next)

    def close(self) -> None:
        with self._lock:
            self._pieces.close()

    def _next(self) -> bytes:
        with self._lock:
            return next(self._pieces, b"")


def content(descriptor: int) -> Generator[bytes, None, None]:
    try:
        while piece := os.read(descriptor, CHUNK_SIZE):
            yield piece
    finally:
        os.close(descriptor)


BATCH_SIZE = 64 * 1024  # bytes


class RowsStream:
    """Streams an iterator of texts or bytes that reads rows. The first piece is read at once, as in `Stream`.

    Rows are read in the request's thread: only there is the database connection closed afterwards.
    """

    def __init__(self, pieces: Iterator[str | bytes], batch_size: int = BATCH_SIZE) -> None:
        self._pieces = _batched(pieces, batch_size)
        self._first = next(self._pieces, b"")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        piece = self._first
        try:
            while piece:
                yield piece
                piece = await sync_to_async(self._next)()
        finally:  # also if the client has disconnected
            await sync_to_async(self._pieces.close)()

    def close(self) -> None:
        """Django calls this in the request's thread."""
        self._pieces.close()

    def _next(self) -> bytes:
        return next(self._pieces, b"")


def _batched(pieces: Iterator[str | bytes], batch_size: int) -> Generator[bytes, None, None]:
    batch = bytearray()
    try:
        for piece in pieces:
            batch += piece.encode() if isinstance(piece, str) else piece
            if len(batch) >= batch_size:
                yield bytes(batch)
                batch.clear()
    finally:
        if isinstance(pieces, Generator):
            pieces.close()
    if batch:
        yield bytes(batch)
