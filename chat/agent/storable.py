"""Text from models, tools and users that can be sent, stored and displayed."""

from __future__ import annotations

import re
from typing import Any

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """The text with U+FFFD for what UTF-8 (lone surrogates) or PostgreSQL (NUL) cannot encode."""
    return _UNSTORABLE.sub("\ufffd", text)


def storable_json(value: Any) -> Any:
    """The JSON value with `storable` applied to all texts and names."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(name): storable_json(each) for name, each in value.items()}
    return [storable_json(each) for each in value] if isinstance(value, list | tuple) else value
