"""What a chat-completions server is asked, and what it may answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4


@dataclass(frozen=True)
class Request:
    """One request: its messages and tools, whole body, headers (lower case) and number, from 1."""

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    number: int

    @classmethod
    def read(cls, body: Mapping[str, Any], headers: Mapping[str, str], number: int) -> Request:
        """The request in a decoded body; messages and tools that are missing are empty."""
        return cls(body.get("messages") or [], body.get("tools") or [], body, headers, number)


@dataclass(frozen=True)
class Call:
    """A tool call. Arguments given as text are sent as they are, broken JSON included."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    id: str = field(default_factory=lambda: f"call_{uuid4().hex[:12]}")

    @property
    def text(self) -> str:
        """The arguments as they travel."""
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True)
class Reply:
    """One answer. Times are in seconds, and without `delay` the server's own pace holds.

    `tool_calls` takes Calls or tuples of name, arguments and perhaps an id. A `status` other than 200 sends
    `body` (text, bytes, or anything that becomes JSON) with `headers`. `raw` sends these bytes as they are,
    one chunk each. `cut_after` closes after so many chunks; with `broken` the connection itself breaks.
    `stall_after` waits after so many chunks for `gate`, or, with no gate, until the client goes.
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
        """The tool calls, each as a Call."""
        return [call if isinstance(call, Call) else Call(*call) for call in self.tool_calls]

    @property
    def finish(self) -> str:
        """Why the model stopped: as told, else by whether there are calls."""
        return self.finish_reason or ("tool_calls" if self.tool_calls else "stop")
