"""What every endpoint demands of a request's messages."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def check_request(body: Mapping[str, Any]) -> None:
    """Raise AssertionError for a request that some endpoint would refuse for its messages."""
    json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    messages = body["messages"]
    assert "system" not in [message["role"] for message in messages[1:]]
    assert messages[-1]["role"] in ("user", "tool")
    unanswered: list[str] = []
    for message in messages:
        unanswered = _after(message, unanswered)
    assert not unanswered, f"calls without a result: {unanswered}"
    names = [tool["function"]["name"] for tool in body.get("tools", ())]
    assert all(map(NAME.fullmatch, names))
    assert len(names) == len(set(names)) <= 128
    assert not {"max_tokens", "max_completion_tokens"} <= body.keys()


def _after(message: Mapping[str, Any], unanswered: list[str]) -> list[str]:
    """The calls that still lack their result after the message."""
    if message["role"] == "tool":
        assert message["tool_call_id"] in unanswered, "a result without its call, or a second one"
        assert isinstance(message["content"], str)
        return [id for id in unanswered if id != message["tool_call_id"]]
    assert not unanswered, f"something stands between calls and their results: {unanswered}"
    calls = message.get("tool_calls") or []
    _check_text(message["content"], may_be_missing=bool(calls))
    return _checked_calls(calls)


def _check_text(content: Any, *, may_be_missing: bool) -> None:
    if content is None:
        assert may_be_missing, "an empty message"
    else:
        assert isinstance(content, str)
        assert content.strip() or may_be_missing, "an empty message"


def _checked_calls(calls: Sequence[Mapping[str, Any]]) -> list[str]:
    for call in calls:
        assert call["type"] == "function"
        assert call["id"]
        assert NAME.fullmatch(call["function"]["name"]), call["function"]["name"]
        assert isinstance(json.loads(call["function"]["arguments"]), dict)
    ids = [str(call["id"]) for call in calls]
    assert len(set(ids)) == len(ids), f"an id given twice: {ids}"
    return ids
