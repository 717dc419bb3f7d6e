"""An ASGI app behind an httpx2 client with no port in between, streaming as a network would."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

import httpx2

from chat.demo.demo_request import DemoRequest, play
from chat.demo.reply import Reply, Request
from chat.demo.scenarios import script
from chat.demo.server import App, Message, ModelServer

_BUFFER = 16  # chunks in flight; a client that does not read makes the app wait, as a socket would


class AppTransport(httpx2.AsyncBaseTransport):
    """Runs the app once per request, as a task. Closing the response cancels that task."""

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
    """One request and the messages that the app sends for it; as a stream, the response's body."""

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
            await asyncio.Event().wait()  # the client's leaving is told by cancelling the task
        return self.incoming.pop()

    async def next(self) -> Message:
        """The app's next message; raises ReadTimeout, or RemoteProtocolError if the app is done."""
        try:
            async with asyncio.timeout(self.timeout):  # wait_for of Python 3.11 may swallow a cancellation
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
    """The demo model behind any address.

    `pace` is the time between chunks in seconds; without it DEMO_PACE says, and else it is 0.02.
    Raises ValueError when DEMO_PACE is not a number of seconds.
    """

    return AppTransport(ModelServer(answer, pace=_pace() if pace is None else pace))


def _pace() -> float:
    given = os.environ.get("DEMO_PACE", "0.02")
    try:
        seconds = float(given)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 60:
        raise ValueError(f"DEMO_PACE is {given!r}; allowed are seconds between chunks, from 0 to 60")
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
    """What the demo says or does next, derived from the request alone: it remembers nothing itself."""
    desk = DemoRequest.read(request)
    return play(script(desk), desk)
