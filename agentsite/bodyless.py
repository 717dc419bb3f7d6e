"""Responses without a body: those to HEAD, and those with status 204 or 304."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

Application = Callable[..., Awaitable[Any]]

NO_CONTENT, NOT_MODIFIED = 204, 304


class ResponseEnded(asyncio.CancelledError):
    """The response is complete, so the application's work on it is cancelled.

    Django closes the response when it is cancelled while sending; after any other exception it does not.
    """


class BodylessResponses:
    """ASGI middleware that sends only the head of such a response and ends the application's work on it.

    Not every server checks this. Daphne calls Twisted's method in a way that checks the first piece only, and
    a client or proxy takes what follows on a kept-alive connection for the next response.
    """

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        ended = False

        async def send_head_only(message: dict[str, Any]) -> None:
            nonlocal ended
            if ended:
                raise ResponseEnded
            if message["type"] != "http.response.start" or _may_have_body(scope, message):
                await send(message)
                return
            ended = True
            await send(_without_false_length(message))
            await send({"type": "http.response.body", "body": b""})
            raise ResponseEnded

        with suppress(ResponseEnded):
            await self.application(scope, receive, send_head_only)


def _may_have_body(scope: dict[str, Any], start: dict[str, Any]) -> bool:
    return scope["method"] != "HEAD" and start["status"] not in (NO_CONTENT, NOT_MODIFIED)


def _without_false_length(start: dict[str, Any]) -> dict[str, Any]:
    """Without Content-Length for 204 and 304: Django counts the empty body, and not the one it stands for."""
    if start["status"] not in (NO_CONTENT, NOT_MODIFIED):
        return start
    headers = [(name, value) for name, value in start["headers"] if name.lower() != b"content-length"]
    return {**start, "headers": headers}
