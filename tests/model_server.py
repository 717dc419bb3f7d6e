"""A scripted chat-completions server on a real port, for every test."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import socket
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any

import pytest
import uvicorn

from chat.agent.prompts import text
from chat.demo.reply import Reply, Request, stream
from chat.demo.transport import MODELS
from tests.serving import until

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]
App = Callable[[Message, Receive, Send], Awaitable[None]]
Answer = Callable[[Request], Reply | Awaitable[Reply]]

_GATE_POLL = 0.01  # seconds; polled because a gate may be set in another thread

TITLE_OPENINGS = [text("title", language).template.split("\n")[0] for language in ("en", "zh")]
NO_TITLE = Reply(text="")
EMPTY = Reply(status=500, body={"error": {"message": "script is empty", "type": "server_error"}})


class ScriptedModel:
    """A model that gives the scripted replies, one a request, then HTTP 500 "script is empty".

    What a conversation's title is asked with is answered by `title`, and is no request of the script's.

    Also a context manager. `answer` (a function of the Request, async or not) takes over where it is given;
    it may be set at any time.
    """

    def __init__(self, *replies: Reply, answer: Answer | None = None) -> None:
        self.replies = deque(replies)
        self.answer = answer
        self.title = NO_TITLE
        self.server = ModelServer(self._answer)
        self._port: Port | None = None

    def script(self, *replies: Reply) -> None:
        """Add replies to the end of the queue."""
        self.replies.extend(replies)

    def _answer(self, request: Request) -> Reply | Awaitable[Reply]:
        if asks_title(request.body):
            return self.title
        if self.answer is not None:
            return self.answer(request)
        return self.replies.popleft() if self.replies else EMPTY

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The body of every chat-completions request but those for titles, in order."""
        return [body for body in self.server.requests if not asks_title(body)]

    @property
    def title_requests(self) -> list[dict[str, Any]]:
        """The body of every request for a title, in order."""
        return [body for body in self.server.requests if asks_title(body)]

    def take_requests(self) -> list[dict[str, Any]]:
        """The requests so far, of which the lists then know nothing more."""
        taken, count = self.requests, len(self.server.requests)
        del self.server.requests[:count]
        return taken

    @property
    def disconnects(self) -> int:
        """How many clients left before their answer was complete; see `wait_for_disconnects`."""
        return self.server.disconnects

    @property
    def base_url(self) -> str:
        """What to give as OPENAI_BASE_URL."""
        if self._port is None:
            raise RuntimeError("the scripted model is served only inside its `with` block")
        return f"http://127.0.0.1:{self._port.number}/v1"

    def wait_for_requests(self, count: int = 1) -> None:
        """Return once so many requests have come; raises AssertionError when that takes too long."""
        until(lambda: len(self.requests) >= count, lambda: f"{len(self.requests)} requests, not {count}")

    def wait_for_disconnects(self, count: int = 1) -> None:
        """Return once so many clients have left early; raises AssertionError when that takes too long."""
        until(lambda: self.disconnects >= count, lambda: f"{self.disconnects} disconnects, not {count}")

    def __enter__(self) -> ScriptedModel:
        self._port = Port(self.server)
        return self

    def __exit__(self, *_: object) -> None:
        if self._port:
            self._port.close()
            self._port = None


class AsgiResponse:
    """Sends one response. `complete` is true once everything has been sent."""

    def __init__(self, send: Send) -> None:
        self.send = send
        self.complete = False

    async def whole(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        content, media_type = _encoded(body)
        await self.start(
            status, {"content-type": media_type, "content-length": str(len(content))}, headers or {}
        )
        await self.end(content)

    async def error(self, status: int, text: str) -> None:
        await self.whole(status, {"error": {"message": text, "type": "server_error", "code": None}})

    async def start(self, status: int, *headers: Mapping[str, str]) -> None:
        merged = {name.lower(): value for mapping in headers for name, value in mapping.items()}
        pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in merged.items()]
        await self.send({"type": "http.response.start", "status": status, "headers": pairs})

    async def chunk(self, piece: bytes) -> None:
        await self.send({"type": "http.response.body", "body": piece, "more_body": True})

    async def end(self, piece: bytes = b"") -> None:
        # A client may disconnect once it has read [DONE], before this last message.
        self.complete = True
        await self.send({"type": "http.response.body", "body": piece, "more_body": False})


def _encoded(body: Any) -> tuple[bytes, str]:
    if isinstance(body, bytes):
        return body, "application/octet-stream"
    if isinstance(body, str):
        return body.encode(), "text/plain; charset=utf-8"
    return json.dumps(body, ensure_ascii=False).encode(), "application/json"


class BrokenConnectionError(Exception):
    """Raised out of the app so that its server drops the connection in the middle of the body."""


class ModelServer:
    """Serves `POST .../chat/completions` with `answer(request)`, and `GET .../models`.

    `requests` has the body of every chat-completions request; `disconnects` counts clients that left before
    their response was complete.
    """

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.requests: list[dict[str, Any]] = []
        self.disconnects = 0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        body = await _read(receive)
        response = AsgiResponse(send)
        answering = asyncio.ensure_future(self._answer(scope, body, response))
        disconnecting = asyncio.ensure_future(_disconnected(receive))
        try:
            await asyncio.wait({answering, disconnecting}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.disconnects += not (answering.done() or response.complete)
            disconnecting.cancel()
            answering.cancel()
        if answering.done():
            answering.result()

    async def _answer(self, scope: Message, body: bytes, response: AsgiResponse) -> None:
        path = scope["path"].rstrip("/")
        if scope["method"] == "GET" and path.endswith("/models"):
            await response.whole(200, MODELS)
        elif scope["method"] == "POST" and path.endswith("/chat/completions"):
            headers = {
                name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
            }
            await self._complete(headers, body, response)
        else:
            await response.error(404, f"no such address: {scope['method']} {scope['path']}")

    async def _complete(self, headers: Mapping[str, str], body: bytes, response: AsgiResponse) -> None:
        data = json.loads(body)
        self.requests.append(data)
        request = Request(data, headers, len(self.requests))
        try:
            answer = self.answer(request)
            reply = await answer if inspect.isawaitable(answer) else answer
        except Exception as error:  # so that a fault in a script shows in the test's output
            await response.error(500, f"the answer failed: {type(error).__name__}: {error}")
            return
        await asyncio.sleep(reply.first_delay)
        await self._send(request, reply, response)

    async def _send(self, request: Request, reply: Reply, response: AsgiResponse) -> None:
        if reply.status != 200:
            await response.whole(reply.status, reply.body, reply.headers)
        else:
            chunks = stream(request, reply) if reply.raw is None else reply.raw
            await self._send_chunks(chunks, reply, response)

    async def _send_chunks(self, chunks: Iterable[bytes], reply: Reply, response: AsgiResponse) -> None:
        await response.start(
            200, {"content-type": "text/event-stream", "cache-control": "no-store"}, reply.headers
        )
        sent = 0
        for sent, piece in enumerate(chunks, 1):
            if sent > 1:
                await asyncio.sleep(reply.delay)
            if await _cut(reply, sent - 1):
                break
            await response.chunk(piece)
        else:
            await _cut(reply, sent)
        await response.end()


async def _cut(reply: Reply, sent: int) -> bool:
    """Stall if the reply says so; returns whether the body ends after `sent` chunks."""
    if reply.stall_after == sent:
        await _wait_for(reply.gate or threading.Event())
    if reply.cut_after == sent and reply.broken:
        raise BrokenConnectionError(f"broken after {sent} chunks, as scripted")
    return reply.cut_after == sent


async def _wait_for(gate: threading.Event) -> None:
    while not gate.is_set():  # noqa: ASYNC110  an asyncio.Event could not be set from a test's thread
        await asyncio.sleep(_GATE_POLL)


async def _read(receive: Receive) -> bytes:
    body: bytes = b""
    while True:
        message: Message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class Port:
    """An app on a free loopback port, served by a thread of its own until it is closed."""

    def __init__(self, app: App) -> None:
        self.socket = listening()
        self.number: int = self.socket.getsockname()[1]
        self.server = uvicorn.Server(_config(app))
        # The socket listens already: a client may connect before the server's loop has begun.
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.socket]}, daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.server.should_exit = self.server.force_exit = True
        self.thread.join(5)
        self.socket.close()


class _Switch:
    """An app whose inside is exchanged from test to test, so that they share one port and one thread."""

    app: App

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


@functools.cache
def _shared() -> tuple[_Switch, Port]:
    switch = _Switch()
    return switch, Port(switch)


def asks_title(body: dict[str, Any]) -> bool:
    """Whether the request is the one that names a conversation."""
    messages = body.get("messages") or [{}]
    content = messages[-1].get("content") if isinstance(messages[-1], dict) else ""
    return isinstance(content, str) and any(content.startswith(opening) for opening in TITLE_OPENINGS)


@pytest.fixture
def model_server() -> Iterator[ScriptedModel]:
    """A ScriptedModel of this test's own, served on a port that all tests of the process share."""
    model = ScriptedModel()
    switch, port = _shared()
    switch.app = model.server
    model._port = port
    yield model
    model._port = None


def listening(port: int = 0) -> socket.socket:
    """A listening loopback socket; port 0 takes a free one."""
    bound = socket.create_server(("127.0.0.1", port), backlog=128)
    # Connections take this over; each reply would wait 40 ms for an acknowledgement otherwise.
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    bound.setblocking(False)
    return bound


def _config(app: App) -> uvicorn.Config:
    return uvicorn.Config(app, http="h11", ws="none", lifespan="off", log_level="critical", access_log=False)
