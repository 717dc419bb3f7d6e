"""Converts chat-completions chunks, as endpoints really send them, to deltas."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from chat.agent.events import Reasoning, Usage
from chat.agent.model.errors import chunk_error, error_text
from chat.agent.model.protocol import Delta, Finish, MessageFields, ModelError, ToolCallDelta
from chat.agent.model.reasoning_tags import ReasoningTags
from chat.agent.storable import storable

_OWN_FIELDS = {"index", "id", "type", "function"}
_REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
# Fields handled here or redundant; all others are provider-specific.
_HANDLED = {"role", "content", "tool_calls", "function_call", "refusal", "name", "token_ids"}
_HANDLED |= set(_REASONING_FIELDS)

MAX_HELD = 100_000  # chunks


class ChunkReader:
    """Reads the chunks of one reply: of choice 0, or of the only choice if it has another index.

    `begun`: part of the reply has arrived; `finished`: the reply is complete; `foreign`: there was a chunk
    that is not of a chat completion.
    """

    def __init__(self) -> None:
        self.begun = self.finished = self.foreign = False
        self._has_ours = False
        self._others: list[Mapping[str, Any]] = []  # held back until it is certain that there is no choice 0
        self._tags = ReasoningTags()

    def deltas(self, chunk: Mapping[str, Any]) -> Iterator[Delta]:
        """The deltas of one chunk; raises ModelError("reported") for an error object."""
        if (fault := chunk_error(chunk)) is not None:
            raise ModelError("reported", detail=fault)
        self.foreign = self.foreign or not chunk.keys() & {"choices", "usage"}
        for choice in _dicts(chunk.get("choices")):
            if choice.get("index") in (None, 0):
                self._has_ours, self._others = True, []
                yield from self._choice_deltas(choice)
            elif not self._has_ours:
                self._hold(choice)
        yield from _usage(chunk)

    def rest(self) -> Iterator[Delta]:
        others, self._others = self._others, []
        for choice in others:
            yield from self._choice_deltas(choice)
        yield from self._tags.rest()

    def _hold(self, choice: Mapping[str, Any]) -> None:
        if self._others and self._others[0].get("index") != choice.get("index"):
            return
        self._others.append(choice)
        if len(self._others) > MAX_HELD:
            raise ModelError("endless", maximum=MAX_HELD)

    def _choice_deltas(self, choice: Mapping[str, Any]) -> Iterator[Delta]:
        for delta in self._message_deltas(self._message(choice)):
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
        # Some endpoints end a stream by repeating the whole message.
        whole = {} if self.begun else _dict(choice.get("message"))
        return _dict(choice.get("delta")) or whole

    def _message_deltas(self, message: Mapping[str, Any]) -> Iterator[Delta]:
        yield from self._text_deltas(message)
        for call in _calls(message):
            yield _call(call)
        if own := {name: value for name, value in message.items() if value and name not in _HANDLED}:
            yield MessageFields(own)

    def _text_deltas(self, message: Mapping[str, Any]) -> Iterator[Delta]:
        thought = next((text for name in _REASONING_FIELDS if (text := _text(message.get(name)))), "")
        if thought := thought or _details(message) or _thought_parts(message.get("content")):
            yield Reasoning(thought)
        if text := _text(message.get("content")) + _text(message.get("refusal")):
            yield from self._tags.read(text)


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


# More tokens than any reply has, and the maximum of an integer column.
MAX_COUNT = 2**31 - 1

_INPUT = ("prompt_tokens", "input_tokens", "promptTokenCount", "prompt_eval_count")
_OUTPUT = ("completion_tokens", "output_tokens", "candidatesTokenCount", "eval_count")
_CACHED = (
    "prompt_tokens_details.cached_tokens",
    "input_tokens_details.cached_tokens",
    "prompt_cache_hit_tokens",  # DeepSeek
    "cached_tokens",  # Moonshot
    "cache_read_input_tokens",  # Anthropic's own word, which some proxies pass on
    "cachedContentTokenCount",  # Gemini's
)
_ANTHROPIC_CACHE = ("cache_read_input_tokens", "cache_creation_input_tokens")
_REASONING = (
    "completion_tokens_details.reasoning_tokens",
    "output_tokens_details.reasoning_tokens",
    "reasoning_tokens",
    "thoughtsTokenCount",
)


def usage_in(counts: Mapping[str, Any]) -> Usage:
    """The usage that an endpoint reports; missing or non-numeric counts are 0."""
    inputs, outputs = _input_tokens(counts), _first(counts, _OUTPUT)
    # Gemini counts reasoning only in the total.
    reasoning = 0 if _first(counts, _REASONING) else max(0, _count(counts, "total_tokens") - inputs - outputs)
    return Usage(
        input_tokens=inputs,
        output_tokens=min(outputs + reasoning, MAX_COUNT) if outputs else outputs,
        cached_tokens=_first(counts, _CACHED),
        reasoning_tokens=_first(counts, _REASONING) or (reasoning if outputs else 0),
    )


def _input_tokens(counts: Mapping[str, Any]) -> int:
    uncached = _first(counts, _INPUT)
    # Anthropic's input count excludes cached tokens.
    cached = 0 if _count(counts, "prompt_tokens") else sum(_count(counts, name) for name in _ANTHROPIC_CACHE)
    return min(uncached + cached, MAX_COUNT)


def _first(counts: Mapping[str, Any], names: tuple[str, ...]) -> int:
    return next((count for name in names if (count := _count(counts, name))), 0)


def _count(counts: Any, name: str) -> int:
    for part in name.split("."):
        counts = counts.get(part) if isinstance(counts, dict) else None
    if isinstance(counts, bool) or not isinstance(counts, int | float) or counts != counts:
        return 0
    return int(min(max(counts, 0), MAX_COUNT))
