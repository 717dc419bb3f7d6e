"""Text that can be sent, stored and displayed."""

from __future__ import annotations

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """The text with U+FFFD for what UTF-8 (lone surrogates) or PostgreSQL (NUL) cannot encode."""
    return _UNSTORABLE.sub("\ufffd", text)
