"""Pages on which nothing can be done: what they show, and where their pictures are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """How rows are drawn where they stand apart from the site.

    `picture` gives the address of a picture by its digest, empty for one that is not shown. A public page is
    anybody's: it tells neither what a turn took nor of what went wrong with an endpoint. One that `replays`
    tells the moment of each row.
    """

    picture: Callable[[str], str]
    is_public: bool = False
    replays: bool = False
