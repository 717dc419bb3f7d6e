"""From a chat-completions chunk, as endpoints really send it, to deltas."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from chat.agent.events import Reasoning, Text, Usage
from chat.agent.model.protocol import Delta, Finish, ModelError, ToolCallDelta
from chat.agent.storable import storable

_OWN_FIELDS = {"index", "id", "type", "function"}


def deltas(chunk: Mapping[str, Any]) -> Iterator[Delta]:
    """The deltas in one chunk; raises ModelError("reported") for an error object."""
    if chunk.get("error") or chunk.get("object") == "error":
        raise ModelError("reported", detail=error_text(chunk))
    for choice in _dicts(chunk.get("choices"))[:1]:
        delta = _dict(choice.get("delta")) or _dict(choice.get("message"))
        yield from _texts(delta)
        for call in _calls(delta):
            yield _call(call)
        if choice.get("finish_reason") == "error":
            raise ModelError("reported", detail=error_text(choice.get("error") or ""))
        if choice.get("finish_reason"):
            yield Finish(str(choice["finish_reason"]))
    if isinstance(chunk.get("usage"), dict):
        yield _usage(chunk["usage"])


def error_text(error: Any) -> str:
    """What an error body says, in one short line."""
    for name in ("error", "message", "detail", "msg"):
        if isinstance(error, dict) and error.get(name):
            return error_text(error[name])
    if isinstance(error, list) and error:
        return error_text(error[0])
    text = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
    return " ".join(text.split())[:300]


def _texts(delta: Mapping[str, Any]) -> Iterator[Delta]:
    reasoning = _text(delta.get("reasoning_content") or delta.get("reasoning"))
    if reasoning:
        yield Reasoning(reasoning)
    text = _text(delta.get("content"))
    if text:
        yield Text(text)


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(_text(part.get("text")) for part in _dicts(content))
    return storable(content) if isinstance(content, str) else ""


def _calls(delta: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    calls = _dicts(delta.get("tool_calls"))
    legacy = delta.get("function_call")
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


def _usage(usage: Mapping[str, Any]) -> Usage:
    def count(group: Any, name: str) -> int:
        value = group.get(name) if isinstance(group, dict) else None
        return value if isinstance(value, int) else 0

    return Usage(
        input_tokens=count(usage, "prompt_tokens"),
        output_tokens=count(usage, "completion_tokens"),
        cached_tokens=count(usage.get("prompt_tokens_details"), "cached_tokens"),
        reasoning_tokens=count(usage.get("completion_tokens_details"), "reasoning_tokens"),
    )


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
