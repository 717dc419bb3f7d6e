"""Results of tools, shortened: what they begin with, and how to get the rest again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from chat.agent.prompts import Language, phrase

KEPT = 240  # characters of a trimmed result
WORTH = 1000  # characters that a result must have to be trimmed
SUBJECT = 200  # characters of a path or a command in a note


def trimmed(messages: Sequence[Mapping[str, Any]], place: int, language: Language) -> str:
    """What is sent in place of the old result at `place`."""
    name, subject = _called(messages, place)
    note = phrase(language, "context.trimmed", name, name=name, subject=subject)
    return f"{messages[place]['content'][:KEPT].rstrip()}\n{note}"


def cut(content: str, characters: int, language: Language) -> str:
    """The beginning and the end of a result that is too long to be sent at all."""
    head = characters * 2 // 3
    note = phrase(language, "context.cut", left_out=len(content) - characters, characters=len(content))
    return f"{content[:head]}\n{note}\n{content[len(content) - (characters - head) :]}"


def latest_step(messages: Sequence[Mapping[str, Any]]) -> int:
    """Where the last message of the model stands; at the end if there is none."""
    said = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
    return said[-1] if said else len(messages)


def latest_results(messages: Sequence[Mapping[str, Any]]) -> list[int]:
    """The places of the results that the model has not read yet."""
    first = latest_step(messages)
    return [place for place in range(first, len(messages)) if messages[place]["role"] == "tool"]


def old_results(messages: Sequence[Mapping[str, Any]]) -> list[int]:
    """The places of results that may be trimmed, oldest first: long ones that the model has read before."""
    return [
        place
        for place, message in enumerate(messages[: latest_step(messages)])
        if message["role"] == "tool"
        and isinstance(message["content"], str)
        and len(message["content"]) >= WORTH
    ]


def _called(messages: Sequence[Mapping[str, Any]], place: int) -> tuple[str, str]:
    """Name and subject (a command, a path) of the call with the result at `place`."""
    identity = messages[place]["tool_call_id"]
    for message in reversed(messages[:place]):
        for call in message.get("tool_calls") or ():
            if call["id"] == identity:
                function = call["function"]
                return str(function["name"]), _subject(str(function["arguments"]))
    return "", ""


def _subject(arguments: str) -> str:
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        return ""
    named = [given[name] for name in ("command", "path") if name in given] if isinstance(given, dict) else []
    return " ".join(str(named[0]).split())[:SUBJECT] if named else ""
