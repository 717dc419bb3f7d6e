"""The arguments of a tool call: JSON text, as models really write it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from chat.agent.storable import storable

DEEPEST = 64  # levels; whatever works with arguments, here or at an endpoint, walks down all of them


def decoded(text: str) -> Any:
    """What the text says; an empty text says nothing, `{}`. Raises ValueError or RecursionError.

    Takes raw line breaks in strings, and an object that was written as JSON twice; refuses NaN, infinity and
    more than DEEPEST levels.
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


def fitted(value: Any, schema: Any) -> Any:
    """The value, with lists and objects for JSON that stands in a string where the schema has no string."""
    schema = schema if isinstance(schema, dict) else {}
    if isinstance(value, str):
        value = _unwrapped(value, _types(schema))
    if isinstance(value, list):
        return [fitted(each, schema.get("items")) for each in value]
    if isinstance(value, Mapping):
        fields = schema.get("properties")
        fields = fields if isinstance(fields, dict) else {}
        return {name: fitted(each, fields.get(name)) for name, each in value.items()}
    return value


def _unwrapped(text: str, types: set[str]) -> Any:
    if "string" in types or not text.lstrip().startswith(("[", "{")):
        return text
    try:
        given = _decoded(text)
    except (ValueError, RecursionError):
        return text
    return given if ("array" if isinstance(given, list) else "object") in types else text


def _types(schema: Mapping[str, Any]) -> set[str]:
    """The kinds of value that a schema allows, as far as it says so plainly."""
    named = schema.get("type")
    types = set(named) if isinstance(named, list) else {named}
    for group in ("anyOf", "oneOf"):
        among = schema.get(group)
        for each in among if isinstance(among, list) else []:
            types |= _types(each) if isinstance(each, dict) else set()
    return {each for each in types if isinstance(each, str)}


def _plain(text: str) -> bool:
    try:
        # Half a character, escaped, is JSON to some readers and none to others.
        return bool(json.loads(text) == decoded(text))
    except (ValueError, RecursionError):
        return False


def _decoded(text: str) -> Any:
    given = json.loads(text, strict=False, parse_constant=_no_number, parse_float=_finite)
    return _storable(given, DEEPEST)


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not a number")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _no_number(digits)


def _storable(value: Any, levels: int) -> Any:
    if not levels:
        raise ValueError(f"nested more than {DEEPEST} levels deep")
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [_storable(part, levels - 1) for part in value]
    if isinstance(value, dict):
        return {storable(name): _storable(part, levels - 1) for name, part in value.items()}
    return value
