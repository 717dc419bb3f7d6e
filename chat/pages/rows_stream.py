"""A response's body that is made of rows, piece by piece, where the request's own database connection is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator

from asgiref.sync import sync_to_async

PIECE = 64 * 1024  # characters gathered before they are sent


class RowsStream:
    """Gives what an iterator of texts gives; the first piece is there at once, so that a failure is answered.

    Rows are read in the thread of the request, as nowhere else its connection is given back in the end.
    """

    def __init__(self, texts: Iterator[str], gather: int = PIECE) -> None:
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
