"""Terms: what has to occur in a conversation for it to be found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """Words that follow each other in a text.

    An `open` one may go on at its end, as read does in reader; an `exact` one must not, even where nothing
    else is found.
    """

    words: tuple[str, ...]
    open: bool = False
    exact: bool = False
