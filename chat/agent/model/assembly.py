"""Puts a streamed reply together."""

from __future__ import annotations

import secrets
import string
from dataclasses import dataclass, field
from typing import Any

from chat.agent.events import Reasoning, Reply, Text, ToolCall, Usage
from chat.agent.model.protocol import Delta, Finish, ToolCallDelta

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

    Calls are told apart by index, else by id, else the piece belongs to the call that was open last; another
    id at an index that is taken begins a new call, for endpoints that number all their calls 0.
    """

    def __init__(self) -> None:
        self.text = ""
        self.reasoning = ""
        self.finish_reason = ""
        self.usage = Usage()
        self.calls: list[OpenCall] = []
        self._open: dict[int | str, OpenCall] = {}

    @property
    def begun(self) -> bool:
        """Whether anything of a reply has come."""
        return bool(self.text or self.reasoning or self.calls or self.finish_reason)

    def add(self, delta: Delta) -> None:
        """Take in one delta."""
        match delta:
            case Text(text):
                self.text += text
            case Reasoning(text):
                self.reasoning += text
            case ToolCallDelta():
                self._add_call(delta)
            case Usage():
                self.usage = delta
            case Finish(reason):
                self.finish_reason = self.finish_reason or reason

    def reply(self) -> Reply:
        """The reply as it stands; every call has an id of its own."""
        calls = tuple(self._whole(call, place) for place, call in enumerate(self.calls))
        return Reply(self.text, self.reasoning, calls, self.finish_reason)

    def _add_call(self, delta: ToolCallDelta) -> None:
        call = self._call_of(delta)
        call.id = call.id or delta.id
        call.name = call.name or delta.name
        call.arguments += delta.arguments
        call.extra.update(delta.extra)

    def _call_of(self, delta: ToolCallDelta) -> OpenCall:
        key = delta.key if delta.key is not None else delta.id
        call = self._open.get(key) if key != "" else (self.calls[-1] if self.calls else None)
        if call is None or (delta.id and call.id and delta.id != call.id):
            call = OpenCall()
            self.calls.append(call)
            self._open[key] = call
        return call

    def _whole(self, call: OpenCall, place: int) -> ToolCall:
        taken = {earlier.id for earlier in self.calls[:place]}
        if not call.id or call.id in taken:
            call.id = "".join(secrets.choice(_ALPHABET) for _ in range(9))
        return ToolCall(call.id, call.name, call.arguments, dict(call.extra))
