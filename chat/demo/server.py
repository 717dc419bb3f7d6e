"""A chat-completions endpoint as one ASGI app, whose answers come from a function."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from chat.demo.chunks import completion, stream
from chat.demo.outlet import Message, Outlet, Send
from chat.demo.reply import Reply, Request

Receive = Callable[[], Awaitable[Message]]
App = Callable[[Message, Receive, Send], Awaitable[None]]
Answer = Callable[[Request], Reply | Awaitable[Reply]]

_GATE_POLL = 0.01  # seconds; a gate may be opened from another thread, where no loop can be woken


class BrokenConnectionError(Exception):
    """Raised out of the app so that whoever serves it drops the connection in the middle of a body."""


class ModelServer:
    """Answers `POST .../chat/completions` with `answer(request)` and `GET .../models` with the demo's name.

    `requests` holds the body of every chat-completions request; `disconnects` counts the clients that left
    before their answer was complete. `pace` is the time in seconds between chunks.
    """

    def __init__(self, answer: Answer, pace: float = 0.0) -> None:
        self.answer = answer
        self.pace = pace
        self.requests: list[dict[str, Any]] = []
        self.disconnects = 0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError(f"the model server speaks http, not {scope['type']}")
        body = await _read(receive)
        outlet = Outlet(send)
        answering = asyncio.ensure_future(self._answer(scope, body, outlet))
        leaving = asyncio.ensure_future(_gone(receive))
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.disconnects += not (answering.done() or outlet.complete)
            leaving.cancel()
            answering.cancel()
        if answering.done():
            answering.result()

    async def _answer(self, scope: Message, body: bytes, outlet: Outlet) -> None:
        path = scope["path"].rstrip("/")
        if scope["method"] == "GET" and path.endswith("/models"):
            models = [{"id": "demo", "object": "model", "created": 0, "owned_by": "demo"}]
            await outlet.whole(200, {"object": "list", "data": models})
        elif scope["method"] == "POST" and path.endswith("/chat/completions"):
            headers = {
                name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
            }
            await self._complete(headers, body, outlet)
        else:
            await outlet.fault(404, f"no such address: {scope['method']} {scope['path']}")

    async def _complete(self, headers: Mapping[str, str], body: bytes, outlet: Outlet) -> None:
        asked = _decoded(body)
        if asked is None:
            await outlet.fault(400, "the request's body is not a JSON object")
            return
        self.requests.append(asked)
        request = Request.read(asked, headers, len(self.requests))
        try:
            given = self.answer(request)
            reply = await given if inspect.isawaitable(given) else given
        except Exception as error:  # a fault in a script is to reach the one who reads the test's output
            await outlet.fault(500, f"the answer failed: {type(error).__name__}: {error}")
            return
        await asyncio.sleep(reply.first_delay)
        await self._send(request, reply, outlet)

    async def _send(self, request: Request, reply: Reply, outlet: Outlet) -> None:
        if reply.status != 200:
            await outlet.whole(reply.status, reply.body, reply.headers)
        elif reply.raw is not None:
            await self._send_chunks(reply.raw, reply, outlet)
        elif request.body.get("stream"):
            await self._send_chunks(stream(request, reply), reply, outlet)
        else:
            await outlet.whole(200, completion(request, reply), reply.headers)

    async def _send_chunks(self, chunks: Iterable[bytes], reply: Reply, outlet: Outlet) -> None:
        await outlet.start(
            200, {"content-type": "text/event-stream", "cache-control": "no-store"}, reply.headers
        )
        delay = self.pace if reply.delay is None else reply.delay
        sent = 0
        for sent, piece in enumerate(chunks, 1):
            if sent > 1:
                await asyncio.sleep(delay)
            if await _cut(reply, sent - 1):
                break
            await outlet.chunk(piece)
        else:
            await _cut(reply, sent)
        await outlet.end()


async def _cut(reply: Reply, sent: int) -> bool:
    """Stall here if the reply says so; whether it is cut after so many chunks."""
    if reply.stall_after == sent:
        await _opened(reply.gate or threading.Event())
    if reply.cut_after == sent and reply.broken:
        raise BrokenConnectionError(f"broken after {sent} chunks, as scripted")
    return reply.cut_after == sent


async def _opened(gate: threading.Event) -> None:
    while not gate.is_set():  # noqa: ASYNC110  an asyncio.Event could not be set from a test's thread
        await asyncio.sleep(_GATE_POLL)


async def _read(receive: Receive) -> bytes:
    body: bytes = b""
    while True:
        message: Message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _decoded(body: bytes) -> dict[str, Any] | None:
    try:
        decoded = json.loads(body)
    except ValueError:
        return None
    return decoded if isinstance(decoded, dict) else None
