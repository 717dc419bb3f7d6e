"""The results of tool calls among the messages of a turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def answered_last(messages: Sequence[Mapping[str, Any]]) -> set[str]:
    """The ids of the calls whose results end the messages."""
    answered = set()
    for message in reversed(messages):
        if message["role"] != "tool":
            break
        answered.add(str(message["tool_call_id"]))
    return answered


def first_of_the_latest(messages: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The first result of the latest calls, if it has come."""
    asked = [place for place, message in enumerate(messages) if message.get("tool_calls")]
    results = [message for message in messages[asked[-1] :] if message["role"] == "tool"] if asked else []
    return results[0] if results else None
