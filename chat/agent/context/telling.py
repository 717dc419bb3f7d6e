"""A conversation told as one text, for a model that is to summarise it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chat.agent.prompts import Language, phrase
from chat.agent.tokens import text_tokens


@dataclass(frozen=True)
class Bounds:
    """Characters that are told of what somebody says, of a result, and of a call's arguments."""

    said: int
    result: int
    arguments: int


_BOUNDS = (Bounds(16000, 2000, 1000), Bounds(4000, 600, 400), Bounds(1500, 200, 200), Bounds(400, 80, 80))


def telling(messages: Sequence[Mapping[str, Any]], room: int, language: Language) -> str:
    """All that was said, in `room` tokens: told shorter where it has to be, and the oldest left out."""
    told: list[str] = []
    for bounds in _BOUNDS:
        told = [line for message in messages for line in _told(message, bounds, language)]
        if sum(map(text_tokens, told)) <= room:
            break
    while len(told) > 1 and sum(map(text_tokens, told)) > room:
        # What was carried on from before stands first, and is what the rest builds on.
        del told[1 : 1 + max(1, len(told) // 10)]
    return phrase(language, "context.telling", conversation="\n\n".join(told))


def _told(message: Mapping[str, Any], bounds: Bounds, language: Language) -> Iterator[str]:
    if carried := message.get("carried"):
        yield carried
    role = str(message["role"])
    said = _short(_text(message.get("content")), bounds.result if role == "tool" else bounds.said)
    if said:
        yield f"[{phrase(language, f'context.{role}')}]\n{said}"
    for call in message.get("tool_calls") or ():
        function = call["function"]
        yield f"[{phrase(language, 'context.call')}] {function['name']} " + _short(
            str(function["arguments"]), bounds.arguments
        )


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content.strip()
    parts = [part.get("text") or f"({part.get('type')})" for part in content or ()]
    return "\n".join(map(str, parts))


def _short(said: str, characters: int) -> str:
    if len(said) <= characters:
        return said
    half = characters // 2
    return f"{said[:half]} […] {said[-half:]}"
