"""Replies in the chat-completions format: as a stream of server-sent events, or as one JSON object."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import uuid4

from chat.demo.reply import Call, Reply, Request

Payload = Mapping[str, Any]


def sse(*payloads: Payload | str) -> list[bytes]:
    """Each payload as one event: objects as JSON, text as it is (`[DONE]`)."""
    return [f"data: {_text(payload)}\n\n".encode() for payload in payloads]


def chunk(delta: Payload | None = None, finish_reason: str | None = None, **extra: Any) -> dict[str, Any]:
    """One chunk with a single choice; `extra` keys are added, or replace those of the same name."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish_reason}
    return {**_envelope("chat.completion.chunk"), "choices": [choice], **extra}


def stream(request: Request, reply: Reply) -> Iterator[bytes]:
    """The reply as events, in the order in which OpenAI sends them."""
    envelope = _envelope("chat.completion.chunk", str(request.body.get("model") or "demo"))
    for delta in _deltas(reply):
        yield from sse(chunk(delta, **envelope))
    yield from sse(chunk({}, reply.finish, **envelope))
    if (request.body.get("stream_options") or {}).get("include_usage"):
        yield from sse({**envelope, "choices": [], "usage": usage(request, reply)})
    yield from sse("[DONE]")


def completion(request: Request, reply: Reply) -> dict[str, Any]:
    """The reply as the one object that a request without `stream` gets."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.calls:
        message["tool_calls"] = [_call(call, call.text) for call in reply.calls]
    choice = {"index": 0, "message": message, "finish_reason": reply.finish}
    envelope = _envelope("chat.completion", str(request.body.get("model") or "demo"))
    return {**envelope, "choices": [choice], "usage": usage(request, reply)}


def usage(request: Request, reply: Reply) -> dict[str, Any]:
    """The usage that the reply names, or a guess of one token per four characters."""
    if reply.usage is not None:
        return dict(reply.usage)
    asked = len(json.dumps(request.body, ensure_ascii=False)) // 4 + 1
    said = sum(map(len, (reply.text, reply.reasoning, *(call.text for call in reply.calls)))) // 4 + 1
    return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}


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
