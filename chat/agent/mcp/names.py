"""The names that tools of servers bear towards the model: `server__tool`."""

from __future__ import annotations

import hashlib
import re

LIMIT = 64
"""Characters that providers take in a tool's name, of letters, digits, `_` and `-`."""
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
_MARK = 8


def offered_name(server: str, tool: str) -> str:
    """`server__tool`, made fit for providers.

    A name that had to be changed or cut ends with a mark made of the original, so that two that would
    become the same stay apart, and each keeps its name whatever else the server offers.
    """
    whole = f"{server}__{tool}"
    fit = _UNFIT.sub("_", whole)
    if fit == whole and len(whole) <= LIMIT:
        return whole
    mark = hashlib.sha256(whole.encode(errors="surrogatepass")).hexdigest()[:_MARK]
    return f"{fit[: LIMIT - _MARK - 1]}_{mark}"
