"""From chat-completions chunks, as endpoints really send them, to deltas."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from chat.agent.events import Reasoning
from chat.agent.model.faults import error_text, reported
from chat.agent.model.protocol import Delta, Finish, MessageFields, ModelError, ToolCallDelta
from chat.agent.model.thinking import Thinking
from chat.agent.model.usage import usage_in
from chat.agent.storable import storable

_OWN_FIELDS = {"index", "id", "type", "function"}
_REASONING = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
# Read here, or said again elsewhere: all other fields of a message are the provider's own.
_READ = {"role", "content", "tool_calls", "function_call", "refusal", "name", "token_ids", *_REASONING}

MAX_HELD = 100_000  # chunks


class ChunkReader:
    """Reads the chunks of one reply: of choice 0, or of the only one where an endpoint numbers it otherwise.

    `begun` once there was anything of it, `finished` once it says so; `foreign` if there was a chunk that no
    chat completion has.
    """

    def __init__(self) -> None:
        self.begun = self.finished = self.foreign = False
        self._has_ours = False
        self._others: list[Mapping[str, Any]] = []  # held back until it is clear that there is no choice 0
        self._thinking = Thinking()

    def deltas(self, chunk: Mapping[str, Any]) -> Iterator[Delta]:
        """The deltas in one chunk; raises ModelError("reported") for an error object."""
        if (fault := reported(chunk)) is not None:
            raise ModelError("reported", detail=fault)
        self.foreign = self.foreign or not chunk.keys() & {"choices", "usage"}
        for choice in _dicts(chunk.get("choices")):
            if choice.get("index") in (None, 0):
                self._has_ours, self._others = True, []
                yield from self._of_choice(choice)
            elif not self._has_ours:
                self._hold(choice)
        yield from _usage(chunk)

    def rest(self) -> Iterator[Delta]:
        """What was held back, when nothing more comes."""
        others, self._others = self._others, []
        for choice in others:
            yield from self._of_choice(choice)
        yield from self._thinking.rest()

    def _hold(self, choice: Mapping[str, Any]) -> None:
        if self._others and self._others[0].get("index") != choice.get("index"):
            return
        self._others.append(choice)
        if len(self._others) > MAX_HELD:
            raise ModelError("endless", maximum=MAX_HELD)

    def _of_choice(self, choice: Mapping[str, Any]) -> Iterator[Delta]:
        for delta in self._of_message(self._message(choice)):
            self.begun = self.begun or not isinstance(delta, MessageFields)
            yield delta
        yield from _usage(choice)
        reason = choice.get("finish_reason")
        if reason == "error":
            raise ModelError("reported", detail=error_text(choice.get("error") or ""))
        if reason:
            self.begun = self.finished = True
            yield from self.rest()
            yield Finish(storable(str(reason)))

    def _message(self, choice: Mapping[str, Any]) -> Mapping[str, Any]:
        # Some end a stream with the whole message once more.
        whole = {} if self.begun else _dict(choice.get("message"))
        return _dict(choice.get("delta")) or whole

    def _of_message(self, message: Mapping[str, Any]) -> Iterator[Delta]:
        yield from self._texts(message)
        for call in _calls(message):
            yield _call(call)
        if own := {name: value for name, value in message.items() if value and name not in _READ}:
            yield MessageFields(own)

    def _texts(self, message: Mapping[str, Any]) -> Iterator[Delta]:
        thought = next((text for name in _REASONING if (text := _text(message.get(name)))), "")
        if thought := thought or _details(message) or _thought_parts(message.get("content")):
            yield Reasoning(thought)
        if text := _text(message.get("content")) + _text(message.get("refusal")):
            yield from self._thinking.read(text)


def _usage(where: Mapping[str, Any]) -> Iterator[Delta]:
    if isinstance(where.get("usage"), dict):
        yield usage_in(where["usage"])


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(_text(part.get("text")) for part in _dicts(content))
    return storable(content) if isinstance(content, str) else ""


def _details(message: Mapping[str, Any]) -> str:
    details = _dicts(message.get("reasoning_details"))
    return "".join(_text(each.get("text") or each.get("summary")) for each in details)


def _thought_parts(content: Any) -> str:
    parts = _dicts(content)
    return "".join(_text(part.get("thinking")) for part in parts if part.get("type") == "thinking")


def _calls(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    calls = _dicts(message.get("tool_calls"))
    legacy = message.get("function_call")
    return calls or ([{"index": 0, "function": legacy}] if isinstance(legacy, dict) else [])


def _call(call: Mapping[str, Any]) -> ToolCallDelta:
    function = _dict(call.get("function"))
    index = call.get("index")
    identity = call.get("id")
    return ToolCallDelta(
        key=index if isinstance(index, int) else None,
        id="" if identity is None else storable(str(identity)),
        name=_text(function.get("name")).split("<|")[0],
        arguments=_arguments(function.get("arguments")),
        extra={name: value for name, value in call.items() if name not in _OWN_FIELDS},
    )


def _arguments(arguments: Any) -> str:
    if isinstance(arguments, dict):
        return json.dumps(arguments, ensure_ascii=False)
    return _text(arguments)


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
