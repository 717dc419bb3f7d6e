"""Text that can be sent, stored and shown."""

from __future__ import annotations

import re

_UNFIT = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """The text with U+FFFD in place of what UTF-8 (halves of characters) or PostgreSQL (NUL) refuses."""
    return _UNFIT.sub("\ufffd", text)
