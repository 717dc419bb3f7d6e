"""Whole bodies of answers."""

from __future__ import annotations

from typing import Any

from asgiref.sync import async_to_sync


def body(response: Any) -> bytes:
    """All of an answer to a test client, streamed or not."""
    if not response.streaming:
        return bytes(response.content)
    if not response.is_async:
        return b"".join(response)

    async def joined() -> bytes:
        return b"".join([piece async for piece in response])

    return async_to_sync(joined)()
