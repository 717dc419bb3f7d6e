"""An in-process httpx2 transport for an ASGI app, which streams like a network connection."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

import httpx2

from chat.demo.demo_request import DemoRequest, play
from chat.demo.reply import Reply, Request
from chat.demo.scenarios import script
from chat.demo.server import App, Message, ModelServer

_BUFFER = 16  # chunks in flight; then the app waits for the client, as with a socket


class AppTransport(httpx2.AsyncBaseTransport):
    def __init__(self, app: App) -> None:
        self.app = app

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        exchange = _Exchange(request, await request.aread())
        exchange.run(self.app)
        try:
            start = await exchange.next()
        except BaseException:
            await exchange.aclose()
            raise
        return httpx2.Response(start["status"], headers=start["headers"], stream=exchange, request=request)


class _Exchange(httpx2.AsyncByteStream):
    def __init__(self, request: httpx2.Request, body: bytes) -> None:
        self.request = request
        self.incoming: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        self.outgoing: asyncio.Queue[Message | Exception] = asyncio.Queue(_BUFFER)
        self.timeout: float | None = (request.extensions.get("timeout") or {}).get("read")

    def run(self, app: App) -> None:
        self.task = asyncio.create_task(self._run(app))

    async def _run(self, app: App) -> None:
        try:
            await app(_scope(self.request), self._receive, self.outgoing.put)
            ended = httpx2.RemoteProtocolError("the app ended without a whole response", request=self.request)
        except Exception as error:
            ended = httpx2.RemoteProtocolError(f"the app failed: {error}", request=self.request)
        await self.outgoing.put(ended)

    async def _receive(self) -> Message:
        if not self.incoming:
            await asyncio.Event().wait()  # a disconnect cancels the task instead
        return self.incoming.pop()

    async def next(self) -> Message:
        """The app's next message. Raises ReadTimeout, or RemoteProtocolError if the app has ended."""
        try:
            async with asyncio.timeout(self.timeout):  # Python 3.11's wait_for may swallow a cancellation
                message = await self.outgoing.get()
        except TimeoutError:
            raise httpx2.ReadTimeout("nothing came in time", request=self.request) from None
        if isinstance(message, Exception):
            raise message
        return message

    async def __aiter__(self) -> AsyncIterator[bytes]:
        more = True
        while more:
            message = await self.next()
            more = message.get("more_body", False)
            yield message.get("body", b"")

    async def aclose(self) -> None:
        self.task.cancel()


def demo_transport(pace: float | None = None) -> httpx2.AsyncBaseTransport:
    """The demo model behind any URL.

    `pace` is the time between chunks in seconds, by default DEMO_PACE or 0.02. Raises ValueError if DEMO_PACE
    is invalid.
    """

    return AppTransport(ModelServer(answer, pace=_pace() if pace is None else pace))


def _pace() -> float:
    text = os.environ.get("DEMO_PACE", "0.02")
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 60:
        raise ValueError(f"DEMO_PACE is {text!r}; allowed are seconds between chunks, from 0 to 60")
    return seconds


def _scope(request: httpx2.Request) -> Message:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.url.scheme,
        "path": request.url.path,
        "raw_path": request.url.raw_path,
        "query_string": request.url.query,
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "client": None,
        "server": None,
    }


def answer(request: Request) -> Reply:
    demo_request = DemoRequest.read(request)
    return play(script(demo_request), demo_request)
