"""Text from outside, made fit for every database."""

from __future__ import annotations

import re

# PostgreSQL stores no NUL, and no UTF-8 has lone surrogates; a model or a command may send both.
_UNFIT = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """The text with what cannot be stored replaced by the replacement character."""
    return _UNFIT.sub("\ufffd", text)
