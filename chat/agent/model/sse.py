"""Server-sent events, read as tolerantly as real endpoints need it."""

from __future__ import annotations

import codecs
from collections.abc import AsyncIterator

MAX_EVENT = 16 * 1024 * 1024


async def sse_data(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """The `data` of each event in a byte stream.

    Takes any line end, a byte order mark, comments, and characters split between chunks. A last event without
    its empty line counts. Raises ValueError for an event above 16 MiB.
    """
    data: list[str] = []
    async for line in _lines(chunks):
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
            if sum(map(len, data)) > MAX_EVENT:
                raise ValueError("an event without end")
        elif not line and data:
            yield "\n".join(data)
            data = []
    if data:
        yield "\n".join(data)


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    open_line = ""
    first = True
    async for chunk in chunks:
        text = decoder.decode(chunk)
        if first and text:
            text, first = text.removeprefix("\ufeff"), False
        *lines, open_line = _split(open_line + text)
        if len(open_line) > MAX_EVENT:
            raise ValueError("an event without end")
        for line in lines:
            yield line
    if open_line:
        yield open_line.rstrip("\r")


def _split(text: str) -> list[str]:
    """Lines by LF, CRLF or CR; a CR at the very end waits, as its LF may still come."""
    waiting = "\r" if text.endswith("\r") else ""
    lines = text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    lines[-1] += waiting
    return lines
