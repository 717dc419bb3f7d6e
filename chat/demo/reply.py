"""Requests to a chat-completions server and its scripted replies."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4


@dataclass(frozen=True)
class Request:
    """A parsed request: its body, its headers in lower case, and its number, from 1."""

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    number: int

    @classmethod
    def read(cls, body: Mapping[str, Any], headers: Mapping[str, str], number: int) -> Request:
        return cls(body.get("messages") or [], body.get("tools") or [], body, headers, number)


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
    """A reply. Times are in seconds; without `delay` the server's pace applies.

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
    delay: float | None = None
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
