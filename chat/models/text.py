"""Text from outside, made storable in every database."""

from __future__ import annotations

import re
from typing import Any

# PostgreSQL stores no NUL, and no UTF-8 has lone surrogates; a model or a command may send both.
_UNFIT = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """The text with unstorable characters replaced by U+FFFD."""
    return _UNFIT.sub("\ufffd", text)


def clean_json(value: Any) -> Any:
    """The JSON value with `clean` applied to all texts and names."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(name): clean_json(each) for name, each in value.items()}
    return [clean_json(each) for each in value] if isinstance(value, list | tuple) else value
