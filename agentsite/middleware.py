"""ASGI and Django middleware: responses without a body, compression, Content-Security-Policy."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.utils.decorators import sync_and_async_middleware

Application = Callable[..., Awaitable[Any]]

NO_CONTENT, NOT_MODIFIED = 204, 304


class ResponseEnded(asyncio.CancelledError):
    """Cancels the application's work on a response that is complete.

    A CancelledError because Django closes the response if it is cancelled while sending, but not after
    another exception.
    """


class BodylessResponses:
    """Sends only the head of responses that have no body: to HEAD, and with status 204 or 304.

    Not every server ensures this. Daphne bypasses Twisted's check after the first chunk, and on a kept-alive
    connection a client or proxy takes the rest for the next response.
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
            await send(_without_content_length(message))
            await send({"type": "http.response.body", "body": b""})
            raise ResponseEnded

        with suppress(ResponseEnded):
            await self.application(scope, receive, send_head_only)


def _may_have_body(scope: dict[str, Any], start: dict[str, Any]) -> bool:
    return scope["method"] != "HEAD" and start["status"] not in (NO_CONTENT, NOT_MODIFIED)


def _without_content_length(start: dict[str, Any]) -> dict[str, Any]:
    """Drop Content-Length for 204 and 304: Django sets it to the length of the empty body."""
    if start["status"] not in (NO_CONTENT, NOT_MODIFIED):
        return start
    headers = [(name, value) for name, value in start["headers"] if name.lower() != b"content-length"]
    return {**start, "headers": headers}


class PageCompression(GZipMiddleware):
    """Compresses text responses, with the random padding that mitigates BREACH.

    Streamed responses are not compressed, so that each piece is sent at once; nor are pictures and files,
    which would not shrink. Static files are compressed by collectstatic.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if response.streaming or not response.get("Content-Type", "").startswith("text/"):
            return response
        compressed: HttpResponseBase = super().process_response(request, response)
        return compressed


POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "frame-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)


@sync_and_async_middleware
def content_security_policy(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Set the policy on every response that has none of its own."""

    def add_headers(response: HttpResponseBase) -> HttpResponseBase:
        response.headers.setdefault("Content-Security-Policy", POLICY)
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return response

    if iscoroutinefunction(get_response):

        async def middleware(request: HttpRequest) -> HttpResponseBase:
            return add_headers(await get_response(request))

        return middleware
    return lambda request: add_headers(get_response(request))
