"""Requests to a chat-completions server, its scripted replies, and their encoding as a stream."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4


@dataclass(frozen=True)
class Request:
    """The body of a request. A server adds its headers, in lower case, and its number, from 1."""

    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)
    number: int = 1

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        return self.body.get("messages") or []

    @property
    def tools(self) -> Sequence[Mapping[str, Any]]:
        return self.body.get("tools") or []


@dataclass(frozen=True)
class Call:
    """A tool call. Arguments given as text are sent unchanged, even if they are not valid JSON."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    id: str = field(default_factory=lambda: f"call_{uuid4().hex[:12]}")

    @property
    def text(self) -> str:
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True)
class Reply:
    """A reply. The demo's have text and calls; the rest is for the tests' model server. Times are in seconds.

    `tool_calls` takes Calls, or tuples of name, arguments and optionally an id. A `status` other than 200
    sends `body` (text, bytes, or a value encoded as JSON) with `headers`. `raw` sends these bytes unchanged,
    one chunk each. `cut_after` ends the body after that many chunks; with `broken` the connection is dropped.
    `stall_after` waits after that many chunks for `gate`, or without a gate until the client disconnects.
    """

    text: str = ""
    reasoning: str = ""
    tool_calls: Sequence[Call | tuple[Any, ...]] = ()
    finish_reason: str = ""
    usage: Mapping[str, Any] | None = None
    first_delay: float = 0.0
    delay: float = 0.0
    piece: int = 12
    status: int = 200
    body: Any = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: Iterable[bytes] | None = None
    cut_after: int | None = None
    broken: bool = False
    stall_after: int | None = None
    gate: threading.Event | None = None

    @property
    def calls(self) -> list[Call]:
        return [call if isinstance(call, Call) else Call(*call) for call in self.tool_calls]

    @property
    def finish(self) -> str:
        return self.finish_reason or ("tool_calls" if self.tool_calls else "stop")


def sse(*payloads: Mapping[str, Any] | str) -> list[bytes]:
    texts = (each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in payloads)
    return [f"data: {text}\n\n".encode() for text in texts]


def chunk(
    delta: Mapping[str, Any] | None = None, finish_reason: str | None = None, **extra: Any
) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish_reason}
    return {**_envelope("chat.completion.chunk"), "choices": [choice], **extra}


def stream(request: Request, reply: Reply) -> Iterator[bytes]:
    head = _envelope("chat.completion.chunk", str(request.body.get("model") or "demo"))
    for delta in _deltas(reply):
        yield from sse(chunk(delta, **head))
    yield from sse(chunk({}, reply.finish, **head))
    if (request.body.get("stream_options") or {}).get("include_usage"):
        yield from sse({**head, "choices": [], "usage": _usage(request, reply)})
    yield from sse("[DONE]")


def _usage(request: Request, reply: Reply) -> dict[str, Any]:
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
        yield {"tool_calls": [{"index": index, **call_data(call, "")}]}
        for piece in _pieces(call.text, reply.piece * 2):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def call_data(call: Call, arguments: str) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _pieces(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), max(size, 1)))


def _envelope(kind: str, model: str = "demo") -> dict[str, Any]:
    return {"id": f"chatcmpl-{uuid4().hex[:16]}", "object": kind, "created": int(time.time()), "model": model}
