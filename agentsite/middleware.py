"""Responses without a body: those to HEAD, and those with status 204 or 304."""

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


class PageCompression(GZipMiddleware):
    """Compresses whole responses of text, with the random length that hides secrets from BREACH.

    A streamed response is left alone: each piece is on its way at once. So are pictures and files, which
    would not get smaller; static files are compressed when they are collected.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """The response, compressed if the browser takes that and it is worth it."""
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
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)


@sync_and_async_middleware
def content_security_policy(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Send the policy with every response that does not bring a stricter one of its own."""

    def with_policy(response: HttpResponseBase) -> HttpResponseBase:
        response.headers.setdefault("Content-Security-Policy", POLICY)
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return response

    if iscoroutinefunction(get_response):

        async def middleware(request: HttpRequest) -> HttpResponseBase:
            return with_policy(await get_response(request))

        return middleware
    return lambda request: with_policy(get_response(request))
