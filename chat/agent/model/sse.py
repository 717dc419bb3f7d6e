"""Server-sent events, read as tolerantly as real endpoints need it."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import AsyncIterator

MAX_EVENT = 16 * 1024 * 1024  # characters
MAX_BODY = 256 * 1024 * 1024  # bytes; the longest reply that is taken is shorter, even told letter by letter

_FIELD = re.compile(r"(data|event|id|retry|)(?::|$) ?")


async def sse_data(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """The `data` of each event in a byte stream.

    Takes any line end, a byte order mark, comments, and characters split between chunks. A last event without
    its empty line counts. The data of an event called `error` comes as `{"error": data}`. A JSON object that
    stands bare among the events counts as one, and a body that is no event stream at all (a JSON object, a
    web page) is given whole, for the reader to judge. Raises ValueError for an event above 16 MiB and for a
    body above 256 MiB.
    """
    body = _Body()
    async for line in _lines(chunks):
        if (data := body.take(line)) is not None:
            yield data
    if (data := body.rest()) is not None:
        yield data


class _Body:
    """The event that is open; and of a body that is no event stream, all of it."""

    def __init__(self) -> None:
        self.name = ""
        self.data: list[str] = []
        self.bare: list[str] = []
        self.size = 0
        self.has_events = False

    def take(self, line: str) -> str | None:
        """Take in a line; gives the data of an event that it ends."""
        if not line:
            return self._ended()
        if field := _FIELD.match(line):
            self.has_events = True
            self._take_field(field[1], line[field.end() :])
        elif not self.has_events:
            self._keep(self.bare, line)
        elif line.startswith("{"):
            self._keep(self.data, line)
            return self._ended()
        return None

    def rest(self) -> str | None:
        """What is left when the body has ended."""
        return self._ended() if self.has_events else "\n".join(self.bare) or None

    def _take_field(self, name: str, value: str) -> None:
        if name == "event":
            self.name = value.strip()
        elif name == "data":
            self._keep(self.data, value)

    def _keep(self, lines: list[str], line: str) -> None:
        lines.append(line)
        self.size += len(line)
        if self.size > MAX_EVENT:
            raise ValueError("an event without end")

    def _ended(self) -> str | None:
        name, data = self.name, self.data
        self.name, self.data = "", []
        if not data:
            return None
        self.size = 0
        whole = "\n".join(data)
        return json.dumps({"error": whole}) if name == "error" else whole


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Lines by LF, CRLF or CR, without it."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    open_line: list[str] = []
    size = total = 0
    skipped = "\ufeff"
    async for chunk in chunks:
        total += len(chunk)
        text = decoder.decode(chunk)
        if not text:
            continue
        more, *lines = _split(text.removeprefix(skipped))
        # A CR has ended its line already when the LF that belongs to it comes in the next chunk.
        skipped = "\n" if text.endswith("\r") else ""
        open_line.append(more)
        size += len(more)
        if size > MAX_EVENT or total > MAX_BODY:
            raise ValueError("an event without end" if size > MAX_EVENT else "a body without end")
        for line in lines:
            yield "".join(open_line)
            open_line, size = [line], len(line)
    if last := "".join(open_line):
        yield last


def _split(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
