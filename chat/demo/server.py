"""A chat-completions endpoint as an ASGI app that answers with a function."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any
from uuid import uuid4

from chat.demo.reply import Call, Reply, Request

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]


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


Receive = Callable[[], Awaitable[Message]]
App = Callable[[Message, Receive, Send], Awaitable[None]]
Answer = Callable[[Request], Reply | Awaitable[Reply]]

_GATE_POLL = 0.01  # seconds; polled because a gate may be set in another thread


class BrokenConnectionError(Exception):
    """Raised out of the app so that its server drops the connection in the middle of the body."""


class ModelServer:
    """Serves `POST .../chat/completions` with `answer(request)`, and `GET .../models`.

    `requests` has the body of every chat-completions request; `disconnects` counts clients that left before
    their response was complete. `pace` is the time in seconds between chunks.
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
            models = [{"id": "demo", "object": "model", "created": 0, "owned_by": "demo"}]
            await response.whole(200, {"object": "list", "data": models})
        elif scope["method"] == "POST" and path.endswith("/chat/completions"):
            headers = {
                name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
            }
            await self._complete(headers, body, response)
        else:
            await response.error(404, f"no such address: {scope['method']} {scope['path']}")

    async def _complete(self, headers: Mapping[str, str], body: bytes, response: AsgiResponse) -> None:
        data = _decoded(body)
        if data is None:
            await response.error(400, "the request's body is not a JSON object")
            return
        self.requests.append(data)
        request = Request.read(data, headers, len(self.requests))
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
        elif reply.raw is not None:
            await self._send_chunks(reply.raw, reply, response)
        elif request.body.get("stream"):
            await self._send_chunks(stream(request, reply), reply, response)
        else:
            await response.whole(200, completion(request, reply), reply.headers)

    async def _send_chunks(self, chunks: Iterable[bytes], reply: Reply, response: AsgiResponse) -> None:
        await response.start(
            200, {"content-type": "text/event-stream", "cache-control": "no-store"}, reply.headers
        )
        delay = self.pace if reply.delay is None else reply.delay
        sent = 0
        for sent, piece in enumerate(chunks, 1):
            if sent > 1:
                await asyncio.sleep(delay)
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


def _decoded(body: bytes) -> dict[str, Any] | None:
    try:
        decoded = json.loads(body)
    except ValueError:
        return None
    return decoded if isinstance(decoded, dict) else None


Payload = Mapping[str, Any]


def sse(*payloads: Payload | str) -> list[bytes]:
    return [f"data: {_text(payload)}\n\n".encode() for payload in payloads]


def chunk(delta: Payload | None = None, finish_reason: str | None = None, **extra: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish_reason}
    return {**_envelope("chat.completion.chunk"), "choices": [choice], **extra}


def stream(request: Request, reply: Reply) -> Iterator[bytes]:
    envelope = _envelope("chat.completion.chunk", str(request.body.get("model") or "demo"))
    for delta in _deltas(reply):
        yield from sse(chunk(delta, **envelope))
    yield from sse(chunk({}, reply.finish, **envelope))
    if (request.body.get("stream_options") or {}).get("include_usage"):
        yield from sse({**envelope, "choices": [], "usage": usage(request, reply)})
    yield from sse("[DONE]")


def completion(request: Request, reply: Reply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.calls:
        message["tool_calls"] = [_call(call, call.text) for call in reply.calls]
    choice = {"index": 0, "message": message, "finish_reason": reply.finish}
    envelope = _envelope("chat.completion", str(request.body.get("model") or "demo"))
    return {**envelope, "choices": [choice], "usage": usage(request, reply)}


def usage(request: Request, reply: Reply) -> dict[str, Any]:
    if reply.usage is not None:
        return dict(reply.usage)
    prompt_tokens = len(json.dumps(request.body, ensure_ascii=False)) // 4 + 1
    texts = (reply.text, reply.reasoning, *(call.text for call in reply.calls))
    completion_tokens = sum(map(len, texts)) // 4 + 1
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }


def _deltas(reply: Reply) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    for piece in _pieces(reply.reasoning, reply.piece):
        yield {"reasoning_content": piece}
    for piece in _pieces(reply.text, reply.piece):
        yield {"content": piece}
    for index, call in enumerate(reply.calls):
        yield {"tool_calls": [{"index": index, **_call(call, "")}]}
        for piece in _pieces(call.text, reply.piece * 2):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _call(call: Call, arguments: str) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _pieces(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), max(size, 1)))


def _envelope(kind: str, model: str = "demo") -> dict[str, Any]:
    return {"id": f"chatcmpl-{uuid4().hex[:16]}", "object": kind, "created": int(time.time()), "model": model}


def _text(payload: Payload | str) -> str:
    return payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False)
