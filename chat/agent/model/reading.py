"""A reply read from a response's body, whatever form the endpoint gave it."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

from jiter import from_json

from chat.agent.model.deltas import ChunkReader
from chat.agent.model.faults import is_page, page_title
from chat.agent.model.protocol import Delta, ModelError
from chat.agent.model.sse import sse_data

# What a proxy says in place of a reply ("upstream connect error"); code and broken JSON help nobody.
_PLAIN_WORDS = re.compile(r"[\w ,.:;!?'/()-]+")


async def read_reply(body: AsyncIterator[bytes]) -> AsyncGenerator[Delta, None]:
    """The reply in a body, whatever its header says of it: an event stream, or a completion as one object.

    Raises ModelError: "reported" for an error that the endpoint tells, "garbage" for what is no chat
    completion, "empty" for nothing, "cut" for a reply that does not come to its end; and what `body` raises.
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
        # The slower reader lets raw line breaks and halves of characters pass.
        return json.loads(data, strict=False)


def _described(data: str) -> str:
    """What came instead of a chunk, in a few words."""
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
