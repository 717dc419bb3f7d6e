"""Reads a reply from a response body: an event stream or a single JSON object."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

from jiter import from_json

from chat.agent.model.chunks import ChunkReader
from chat.agent.model.errors import is_page, page_title
from chat.agent.model.protocol import Delta, ModelError

# Readable messages of proxies ("upstream connect error"), as opposed to code or broken JSON.
_PLAIN_WORDS = re.compile(r"[\w ,.:;!?'/()-]+")


async def read_reply(body: AsyncIterator[bytes]) -> AsyncGenerator[Delta, None]:
    """The reply in a body, whatever its content type: an event stream, or one completion object.

    Raises ModelError: "reported" for an error in the body, "garbage" for anything but a chat completion,
    "empty" for an empty body, "cut" for an incomplete reply; and whatever `body` raises.
    """
    reader, data, done = ChunkReader(), "", False
    async with aclosing(_data(body)) as events:
        async for data in events:
            if done := data.strip() == "[DONE]":
                break
            for delta in reader.deltas(_chunk(data)):
                yield delta
    for delta in reader.rest():
        yield delta
    reader.finished = reader.finished or (done and reader.begun)
    if not reader.begun and reader.foreign:
        raise ModelError("garbage", detail=_described(data))
    if not reader.begun:
        raise ModelError("empty", retryable=True)
    if not reader.finished:
        raise ModelError("cut", retryable=True)


async def _data(body: AsyncIterator[bytes]) -> AsyncGenerator[str, None]:
    try:
        async for data in sse_data(body):
            yield data
    except ValueError as error:
        raise ModelError("garbage", detail=str(error)) from error


def _chunk(data: str) -> Mapping[str, Any]:
    try:
        chunk = _decoded(data)
    except (ValueError, RecursionError) as error:
        raise ModelError("garbage", detail=_described(data)) from error
    if not isinstance(chunk, dict):
        raise ModelError("garbage", detail=_described(data))
    return chunk


def _decoded(data: str) -> Any:
    try:
        return from_json(data.encode())
    except ValueError:
        # The slower parser accepts raw line breaks and lone surrogates.
        return json.loads(data, strict=False)


def _described(data: str) -> str:
    if is_page(data):
        return page_title(data) or "a web page"
    words = " ".join(data[:80].split())
    if _PLAIN_WORDS.fullmatch(words):
        return f'"{words}"'
    return "JSON of another kind" if _is_json(data) else "text that is not JSON"


def _is_json(data: str) -> bool:
    try:
        _decoded(data)
    except (ValueError, RecursionError):
        return False
    return True


MAX_EVENT = 16 * 1024 * 1024  # characters
MAX_BODY = 256 * 1024 * 1024  # bytes; even a reply of MAX_REPLY streamed letter by letter is shorter

_FIELD = re.compile(r"(data|event|id|retry|)(?::|$) ?")


async def sse_data(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """The `data` of each event in a byte stream.

    Accepts any line ending, a byte order mark, comments, characters split between chunks, and a last event
    without its empty line. The data of an `error` event is returned as `{"error": data}`. A bare JSON object
    among the events counts as an event. A body that is not an event stream (a JSON object, a web page) is
    returned whole. Raises ValueError for an event above 16 MiB and for a body above 256 MiB.
    """
    body = _EventParser()
    async for line in _lines(chunks):
        if (data := body.feed(line)) is not None:
            yield data
    if (data := body.rest()) is not None:
        yield data


class _EventParser:
    """The open event; for a body that is not an event stream, the whole body."""

    def __init__(self) -> None:
        self.name = ""
        self.data: list[str] = []
        self.bare: list[str] = []
        self.size = 0
        self.has_events = False

    def feed(self, line: str) -> str | None:
        if not line:
            return self._finish_event()
        if field := _FIELD.match(line):
            self.has_events = True
            self._feed_field(field[1], line[field.end() :])
        elif not self.has_events:
            self._append(self.bare, line)
        elif line.startswith("{"):
            self._append(self.data, line)
            return self._finish_event()
        return None

    def rest(self) -> str | None:
        return self._finish_event() if self.has_events else "\n".join(self.bare) or None

    def _feed_field(self, name: str, value: str) -> None:
        if name == "event":
            self.name = value.strip()
        elif name == "data":
            self._append(self.data, value)

    def _append(self, lines: list[str], line: str) -> None:
        lines.append(line)
        self.size += len(line)
        if self.size > MAX_EVENT:
            raise ValueError("an event without end")

    def _finish_event(self) -> str | None:
        name, data = self.name, self.data
        self.name, self.data = "", []
        if not data:
            return None
        self.size = 0
        whole = "\n".join(data)
        return json.dumps({"error": whole}) if name == "error" else whole


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
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
        # After a CR at the end of a chunk, an LF at the start of the next belongs to the same line ending.
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
