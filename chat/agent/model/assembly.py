"""Assembles a streamed reply."""

from __future__ import annotations

import json
import math
import secrets
import string
from collections.abc import Collection, Mapping
from typing import Any

from jiter import from_json

from chat.agent.calls import match_tool_name
from chat.agent.events import Reasoning, Reply, Text, TextWasReasoning, ToolCall, Usage
from chat.agent.model.protocol import Delta, Finish, MessageFields, ModelError, ToolCallDelta
from chat.agent.storable import storable

# Characters of one reply, all parts together. Some models never stop.
MAX_REPLY = 1024 * 1024
# Tool calls in one reply; each is a database row. More than any turn may run.
MAX_CALLS = 256

_ALPHABET = string.ascii_letters + string.digits


class TextBuffer:
    """A text in many pieces, joined when it is read, not whenever one is added."""

    def __init__(self, text: str = "") -> None:
        self.size = len(text)
        self._pieces = [text]

    def add(self, piece: str) -> None:
        self.size += len(piece)
        self._pieces.append(piece)

    def __str__(self) -> str:
        self._pieces = ["".join(self._pieces)]
        return self._pieces[0]


class OpenCall:
    """A tool call that is still streaming; `written_name` is its name as the model wrote it."""

    def __init__(self, id: str = "", name: str = "", arguments: str = "") -> None:
        self.id = id
        self.name = self.written_name = name
        self.extra: dict[str, Any] = {}
        self._arguments = TextBuffer(arguments)

    @property
    def arguments(self) -> str:
        return str(self._arguments)

    def add(self, delta: ToolCallDelta, names: Collection[str] = ()) -> None:
        """Add a piece; empty or repeated ids, names and complete arguments are ignored."""
        self.id = self.id or delta.id
        if not self.name:
            self.name, self.written_name = match_tool_name(delta.name, names), delta.name
        if not self.repeats(delta):
            self._arguments.add(delta.arguments)
        if delta.extra:
            self.extra = merge_fields(self.extra, storable_fields(dict(delta.extra)))

    def repeats(self, delta: ToolCallDelta) -> bool:
        may_repeat = delta.arguments.startswith("{") and len(delta.arguments) == self._arguments.size
        return may_repeat and delta.arguments == self.arguments and _is_complete(self.arguments)


class Assembly:
    """A reply under construction; `names` are those of the available tools.

    Calls are told apart by index, else by id; a piece with neither belongs to the call opened last. Some
    endpoints number all calls 0: a piece with another id or name, or with arguments for a call that is
    complete, starts a new call.
    """

    def __init__(self, names: Collection[str] = ()) -> None:
        self.names = names
        self.finish_reason = ""
        self.usage = Usage()
        self.calls: list[OpenCall] = []
        self.extra: dict[str, Any] = {}
        self._text = TextBuffer()
        self._reasoning = TextBuffer()
        self._open: dict[int | str, OpenCall] = {}
        self._size = 0

    @property
    def text(self) -> str:
        return str(self._text)

    @property
    def reasoning(self) -> str:
        return str(self._reasoning)

    def add(self, delta: Delta) -> None:
        """Add a delta; raises ModelError("endless" or "many_calls") if the reply exceeds its limits."""
        match delta:
            case Text(text):
                self._text.add(text)
                self._count(len(text))
            case Reasoning(text):
                self._reasoning.add(text)
                self._count(len(text))
            case TextWasReasoning():
                self._reasoning.add(self.text)
                self._text = TextBuffer()
            case ToolCallDelta(arguments=arguments, extra=extra):
                self._call_of(delta).add(delta, self.names)
                self._count(len(arguments) + size_of(extra))
            case MessageFields(fields):
                self.extra = merge_fields(self.extra, storable_fields(dict(fields)))
                self._count(size_of(fields))
            case Usage():
                self.usage = delta
            case Finish(reason):
                self.finish_reason = self.finish_reason or reason

    def reply(self) -> Reply:
        """The reply so far; every call has a unique id."""
        calls = tuple(self._finished(call, index) for index, call in enumerate(self.calls))
        return Reply(self.text, self.reasoning, calls, self.finish_reason, dict(self.extra))

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > MAX_REPLY:
            raise ModelError("endless", maximum=MAX_REPLY)
        if len(self.calls) > MAX_CALLS:
            raise ModelError("many_calls", maximum=MAX_CALLS)

    def _call_of(self, delta: ToolCallDelta) -> OpenCall:
        key = delta.key if delta.key is not None else delta.id
        call = self._open.get(key) if key != "" else (self.calls[-1] if self.calls else None)
        if call is None or _begins_another(delta, call):
            call = OpenCall()
            self.calls.append(call)
            self._open[key] = call
        if delta.id:
            self._open.setdefault(delta.id, call)
        return call

    def _finished(self, call: OpenCall, index: int) -> ToolCall:
        taken = {earlier.id for earlier in self.calls[:index]}
        if not call.id or call.id in taken:
            call.id = "".join(secrets.choice(_ALPHABET) for _ in range(9))
        return ToolCall(call.id, call.name, call.arguments, dict(call.extra))


def _begins_another(delta: ToolCallDelta, call: OpenCall) -> bool:
    if delta.id and call.id and delta.id != call.id:
        return True
    if delta.name and call.written_name and delta.name != call.written_name and not delta.id:
        return True
    if not delta.name or not delta.arguments or call.repeats(delta):
        return False
    return _is_complete(call.arguments)


def _is_complete(arguments: str) -> bool:
    if not arguments.rstrip().endswith("}"):
        return False
    try:
        from_json(arguments.encode())
    except ValueError:
        return False
    return True


# Text fields that are streamed in pieces; for others the last value counts.
_APPENDED = ("text", "summary", "data", "thinking")
_MAX_DEPTH = 32


def merge_fields(before: Any, after: Any) -> Any:
    """Merge the fields of two chunks: texts and lists are appended, list items with an `index` merged."""
    if isinstance(before, list) and isinstance(after, list):
        return _merge_lists(before, after)
    if isinstance(before, dict) and isinstance(after, dict):
        return {
            **before,
            **{name: _merge_field(name, before.get(name), value) for name, value in after.items()},
        }
    return before if after is None else after


def storable_fields(value: Any, depth: int = _MAX_DEPTH) -> Any:
    """The value as a database can store it: NaN and infinity become null. Raises ModelError if too deep."""
    if not depth:
        raise ModelError("garbage", detail="too deeply nested")
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {storable(name): storable_fields(each, depth - 1) for name, each in value.items()}
    return [storable_fields(each, depth - 1) for each in value] if isinstance(value, list) else value


def size_of(fields: Mapping[str, Any]) -> int:
    return len(json.dumps(fields, ensure_ascii=False)) if fields else 0


def _merge_field(name: str, before: Any, after: Any) -> Any:
    if name in _APPENDED and isinstance(before, str) and isinstance(after, str):
        return before + after
    return merge_fields(before, after)


def _merge_lists(before: list[Any], after: list[Any]) -> list[Any]:
    merged = list(before)
    for item in after:
        index = next((index for index, other in enumerate(merged) if _same_item(other, item)), None)
        if index is None:
            merged.append(item)
        else:
            merged[index] = merge_fields(merged[index], item)
    return merged


def _same_item(one: Any, other: Any) -> bool:
    if not isinstance(one, dict) or not isinstance(other, dict):
        return False
    index = one.get("index")
    return index is not None and (index, one.get("type")) == (other.get("index"), other.get("type"))
