"""Puts a streamed reply together."""

from __future__ import annotations

import secrets
import string
from dataclasses import dataclass, field
from typing import Any

from jiter import from_json

from chat.agent.events import Reasoning, Reply, Text, ToolCall, Usage
from chat.agent.model.protocol import Delta, Finish, ModelError, ToolCallDelta

# Characters of one reply, all its parts together. Some models never stop by themselves.
MAX_REPLY = 1024 * 1024

_ALPHABET = string.ascii_letters + string.digits


@dataclass
class OpenCall:
    """A tool call that is still being written."""

    id: str = ""
    name: str = ""
    arguments: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


class Assembly:
    """A reply under construction.

    Calls are told apart by index, else by id, else the piece belongs to the call that was open last. For
    endpoints that number all their calls 0 a piece with another id or name, or with arguments to a call whose
    arguments are whole, begins a new one.
    """

    def __init__(self) -> None:
        self.text = ""
        self.reasoning = ""
        self.finish_reason = ""
        self.usage = Usage()
        self.calls: list[OpenCall] = []
        self._open: dict[int | str, OpenCall] = {}
        self._size = 0

    def add(self, delta: Delta) -> None:
        """Take in one delta; raises ModelError("endless") for a reply beyond MAX_REPLY."""
        match delta:
            case Text(text):
                self.text += text
                self._count(text)
            case Reasoning(text):
                self.reasoning += text
                self._count(text)
            case ToolCallDelta(arguments=arguments):
                self._add_call(delta)
                self._count(arguments)
            case Usage():
                self.usage = delta
            case Finish(reason):
                self.finish_reason = self.finish_reason or reason

    def reply(self) -> Reply:
        """The reply as it stands; every call has an id of its own."""
        calls = tuple(self._finished(call, place) for place, call in enumerate(self.calls))
        return Reply(self.text, self.reasoning, calls, self.finish_reason)

    def _count(self, text: str) -> None:
        self._size += len(text)
        if self._size > MAX_REPLY:
            raise ModelError("endless", maximum=MAX_REPLY)

    def _add_call(self, delta: ToolCallDelta) -> None:
        call = self._call_of(delta)
        call.id = call.id or delta.id
        call.name = call.name or delta.name
        call.arguments += delta.arguments
        call.extra.update(delta.extra)

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
    if delta.id and call.id:
        return delta.id != call.id
    if delta.name and call.name and delta.name != call.name:
        return True
    return bool(delta.name and delta.arguments and _whole(call.arguments))


def _whole(arguments: str) -> bool:
    if not arguments.rstrip().endswith("}"):
        return False
    try:
        from_json(arguments.encode())
    except ValueError:
        return False
    return True
