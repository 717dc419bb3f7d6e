"""The arguments of a tool call: JSON text, as models really write it."""

from __future__ import annotations

import json
import math
from typing import Any

from chat.agent.storable import storable


def decoded(text: str) -> Any:
    """What the text says; an empty text says nothing, `{}`. Raises ValueError or RecursionError.

    Takes raw line breaks in strings, and an object that was written as JSON twice; refuses NaN and infinity.
    """
    given = _decoded(text.strip() or "{}")
    return _decoded(given) if isinstance(given, str) else given


def readable(text: str) -> bool:
    """Whether the text is JSON at all, or was cut on the way, perhaps before it began."""
    try:
        _decoded(text)
    except (ValueError, RecursionError):
        return False
    return True


def as_object(text: str) -> str:
    """The text if it is plainly a JSON object, else one with the same meaning, or `{}` if it has none.

    Some endpoints take the arguments apart when they come back, and refuse every request that has others.
    """
    try:
        given = decoded(text)
    except (ValueError, RecursionError):
        return "{}"
    if not isinstance(given, dict):
        return "{}"
    return text if _plain(text) else json.dumps(given, ensure_ascii=False)


def _plain(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _decoded(text: str) -> Any:
    given = json.loads(text, strict=False, parse_constant=_no_number, parse_float=_finite)
    return _storable(given) if "\\u" in text else given


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not a number")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _no_number(digits)


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [_storable(part) for part in value]
    if isinstance(value, dict):
        return {storable(name): _storable(part) for name, part in value.items()}
    return value
