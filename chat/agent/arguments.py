"""Parses the JSON arguments of tool calls as models really write them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from chat.agent.storable import storable

MAX_DEPTH = 64  # levels; code that handles arguments, here or at an endpoint, recurses through them


def decoded(text: str) -> Any:
    """Parse JSON, empty text as `{}`. Raises ValueError (also for NaN, infinity) or RecursionError.

    Accepts raw line breaks in strings and doubly encoded JSON; at most MAX_DEPTH levels.
    """
    value = _decoded(text.strip() or "{}")
    return _decoded(value) if isinstance(value, str) else value


def readable(text: str) -> bool:
    """Whether the text is complete JSON, not truncated or empty."""
    try:
        _decoded(text)
    except (ValueError, RecursionError):
        return False
    return True


def as_object(text: str) -> str:
    """The text if it is a plain JSON object, else an equivalent object, or `{}`: endpoints parse it again."""
    try:
        value = decoded(text)
    except (ValueError, RecursionError):
        return "{}"
    if not isinstance(value, dict):
        return "{}"
    return text if _plain(text) else json.dumps(value, ensure_ascii=False)


def fitted(value: Any, schema: Any) -> Any:
    """The value with JSON strings parsed to lists and objects where the schema does not allow a string."""
    schema = schema if isinstance(schema, dict) else {}
    if isinstance(value, str):
        value = _parse_nested(value, _types(schema))
    if isinstance(value, list):
        return [fitted(each, schema.get("items")) for each in value]
    if isinstance(value, Mapping):
        fields = schema.get("properties")
        fields = fields if isinstance(fields, dict) else {}
        return {name: fitted(each, fields.get(name)) for name, each in value.items()}
    return value


def _parse_nested(text: str, types: set[str]) -> Any:
    if "string" in types or not text.lstrip().startswith(("[", "{")):
        return text
    try:
        value = _decoded(text)
    except (ValueError, RecursionError):
        return text
    return value if ("array" if isinstance(value, list) else "object") in types else text


def _types(schema: Mapping[str, Any]) -> set[str]:
    named = schema.get("type")
    types = set(named) if isinstance(named, list) else {named}
    for group in ("anyOf", "oneOf"):
        alternatives = schema.get(group)
        for each in alternatives if isinstance(alternatives, list) else []:
            types |= _types(each) if isinstance(each, dict) else set()
    return {each for each in types if isinstance(each, str)}


def _plain(text: str) -> bool:
    try:
        # Parsers disagree on escaped lone surrogates.
        return bool(json.loads(text) == decoded(text))
    except (ValueError, RecursionError):
        return False


def _decoded(text: str) -> Any:
    value = json.loads(text, strict=False, parse_constant=_reject_constant, parse_float=_finite)
    return _storable(value, MAX_DEPTH)


def _reject_constant(word: str) -> float:
    raise ValueError(f"{word} is not a number")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _reject_constant(digits)


def _storable(value: Any, levels: int) -> Any:
    if not levels:
        raise ValueError(f"nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [_storable(part, levels - 1) for part in value]
    if isinstance(value, dict):
        return {storable(name): _storable(part, levels - 1) for name, part in value.items()}
    return value
