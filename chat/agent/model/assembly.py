"""Puts a streamed reply together."""

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

# Characters of one reply, all its parts together. Some models never stop by themselves.
MAX_REPLY = 1024 * 1024
# Tool calls in one reply; each is a row, and more than any turn may run.
MAX_CALLS = 256

_ALPHABET = string.ascii_letters + string.digits


class Growing:
    """A text that comes in very many pieces: they are joined when it is read, not as each is added."""

    def __init__(self, text: str = "") -> None:
        self.size = len(text)
        self._pieces = [text]

    def add(self, piece: str) -> None:
        """Take in a piece."""
        self.size += len(piece)
        self._pieces.append(piece)

    def __str__(self) -> str:
        self._pieces = ["".join(self._pieces)]
        return self._pieces[0]


class OpenCall:
    """A tool call that is still being written; `wrote` is the name in the model's own words."""

    def __init__(self, id: str = "", name: str = "", arguments: str = "") -> None:
        self.id = id
        self.name = self.wrote = name
        self.extra: dict[str, Any] = {}
        self._arguments = Growing(arguments)

    @property
    def arguments(self) -> str:
        """The arguments as far as they are written."""
        return str(self._arguments)

    def add(self, delta: ToolCallDelta, names: Collection[str] = ()) -> None:
        """Take in a piece; ids, names and whole arguments that are empty, or come again, change nothing."""
        self.id = self.id or delta.id
        if not self.name:
            self.name, self.wrote = match_tool_name(delta.name, names), delta.name
        if not self.repeats(delta):
            self._arguments.add(delta.arguments)
        if delta.extra:
            self.extra = joined(self.extra, kept(dict(delta.extra)))

    def repeats(self, delta: ToolCallDelta) -> bool:
        """Whether the piece has the whole arguments once more."""
        alike = delta.arguments.startswith("{") and len(delta.arguments) == self._arguments.size
        return alike and delta.arguments == self.arguments and _whole(self.arguments)


class Assembly:
    """A reply under construction; `names` are those of the tools on offer.

    Calls are told apart by index, else by id, else the piece belongs to the call that was open last. For
    endpoints that number all their calls 0 a piece with another id or name, or with arguments to a call whose
    arguments are whole, begins a new one.
    """

    def __init__(self, names: Collection[str] = ()) -> None:
        self.names = names
        self.finish_reason = ""
        self.usage = Usage()
        self.calls: list[OpenCall] = []
        self.extra: dict[str, Any] = {}
        self._text = Growing()
        self._reasoning = Growing()
        self._open: dict[int | str, OpenCall] = {}
        self._size = 0

    @property
    def text(self) -> str:
        """The text as far as it is written."""
        return str(self._text)

    @property
    def reasoning(self) -> str:
        """The reasoning as far as it is written."""
        return str(self._reasoning)

    def add(self, delta: Delta) -> None:
        """Take in one delta; raises ModelError("endless" or "many_calls") for a reply that has no end."""
        match delta:
            case Text(text):
                self._text.add(text)
                self._count(len(text))
            case Reasoning(text):
                self._reasoning.add(text)
                self._count(len(text))
            case TextWasReasoning():
                self._reasoning.add(self.text)
                self._text = Growing()
            case ToolCallDelta(arguments=arguments, extra=extra):
                self._call_of(delta).add(delta, self.names)
                self._count(len(arguments) + size_of(extra))
            case MessageFields(fields):
                self.extra = joined(self.extra, kept(dict(fields)))
                self._count(size_of(fields))
            case Usage():
                self.usage = delta
            case Finish(reason):
                self.finish_reason = self.finish_reason or reason

    def reply(self) -> Reply:
        """The reply as it stands; every call has an id of its own."""
        calls = tuple(self._finished(call, place) for place, call in enumerate(self.calls))
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

    def _finished(self, call: OpenCall, place: int) -> ToolCall:
        taken = {earlier.id for earlier in self.calls[:place]}
        if not call.id or call.id in taken:
            call.id = "".join(secrets.choice(_ALPHABET) for _ in range(9))
        return ToolCall(call.id, call.name, call.arguments, dict(call.extra))


def _begins_another(delta: ToolCallDelta, call: OpenCall) -> bool:
    if delta.id and call.id and delta.id != call.id:
        return True
    if delta.name and call.wrote and delta.name != call.wrote and not delta.id:
        return True
    if not delta.name or not delta.arguments or call.repeats(delta):
        return False
    return _whole(call.arguments)


def _whole(arguments: str) -> bool:
    if not arguments.rstrip().endswith("}"):
        return False
    try:
        from_json(arguments.encode())
    except ValueError:
        return False
    return True


# Texts that come in pieces; of anything else the last word counts.
_GROWING = ("text", "summary", "data", "thinking")
_DEEPEST = 32


def joined(before: Any, after: Any) -> Any:
    """The fields of several chunks as one: lists grow, by `index` where their items have one; so do texts."""
    if isinstance(before, list) and isinstance(after, list):
        return _listed(before, after)
    if isinstance(before, dict) and isinstance(after, dict):
        return {**before, **{name: _field(name, before.get(name), value) for name, value in after.items()}}
    return before if after is None else after


def kept(value: Any, depth: int = _DEEPEST) -> Any:
    """The value as a database takes it: numbers that are none become null. Raises ModelError if too deep."""
    if not depth:
        raise ModelError("garbage", detail="too deeply nested")
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {storable(name): kept(each, depth - 1) for name, each in value.items()}
    return [kept(each, depth - 1) for each in value] if isinstance(value, list) else value


def size_of(fields: Mapping[str, Any]) -> int:
    """Characters of the fields as JSON."""
    return len(json.dumps(fields, ensure_ascii=False)) if fields else 0


def _field(name: str, before: Any, after: Any) -> Any:
    if name in _GROWING and isinstance(before, str) and isinstance(after, str):
        return before + after
    return joined(before, after)


def _listed(before: list[Any], after: list[Any]) -> list[Any]:
    merged = list(before)
    for item in after:
        place = next((place for place, other in enumerate(merged) if _same(other, item)), None)
        if place is None:
            merged.append(item)
        else:
            merged[place] = joined(merged[place], item)
    return merged


def _same(one: Any, other: Any) -> bool:
    """Whether they are pieces of one item."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return False
    index = one.get("index")
    return index is not None and (index, one.get("type")) == (other.get("index"), other.get("type"))
