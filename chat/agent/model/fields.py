"""A provider's own fields, which go back to it unchanged: pieces joined, and fit to be stored."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from chat.agent.model.protocol import ModelError
from chat.agent.storable import storable

# Texts that come in pieces; of anything else the last word counts.
_GROWING = ("text", "summary", "data", "thinking")
_DEEPEST = 32


def joined(before: Any, after: Any) -> Any:
    """The fields of several chunks as one: lists grow, by `index` where their items have one; so do texts."""
    if isinstance(before, list) and isinstance(after, list):
        return _listed(before, after)
    if isinstance(before, dict) and isinstance(after, dict):
        return {**before, **{name: _field(name, before.get(name), value) for name, value in after.items()}}
    return before if after is None else after


def kept(value: Any, depth: int = _DEEPEST) -> Any:
    """The value as a database takes it: numbers that are none become null. Raises ModelError if too deep."""
    if not depth:
        raise ModelError("garbage", detail="too deeply nested")
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {storable(name): kept(each, depth - 1) for name, each in value.items()}
    return [kept(each, depth - 1) for each in value] if isinstance(value, list) else value


def size_of(fields: Mapping[str, Any]) -> int:
    """Characters of the fields as JSON."""
    return len(json.dumps(fields, ensure_ascii=False)) if fields else 0


def _field(name: str, before: Any, after: Any) -> Any:
    if name in _GROWING and isinstance(before, str) and isinstance(after, str):
        return before + after
    return joined(before, after)


def _listed(before: list[Any], after: list[Any]) -> list[Any]:
    merged = list(before)
    for item in after:
        place = next((place for place, other in enumerate(merged) if _same(other, item)), None)
        if place is None:
            merged.append(item)
        else:
            merged[place] = joined(merged[place], item)
    return merged


def _same(one: Any, other: Any) -> bool:
    """Whether they are pieces of one item."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return False
    index = one.get("index")
    return index is not None and (index, one.get("type")) == (other.get("index"), other.get("type"))
