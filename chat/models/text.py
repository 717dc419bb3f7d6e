"""Text from outside, made storable in every database: a model or a command may send any."""

from __future__ import annotations

from typing import Any

from chat.agent.storable import storable as clean

__all__ = ["clean", "clean_json"]


def clean_json(value: Any) -> Any:
    """The JSON value with `clean` applied to all texts and names."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(name): clean_json(each) for name, each in value.items()}
    return [clean_json(each) for each in value] if isinstance(value, list | tuple) else value
