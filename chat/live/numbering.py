"""Numbers on what goes to a page, by which the page sees that something is missing, and says what it has."""

from __future__ import annotations

import json
from collections import deque

KEPT = 32 * 1024  # characters of drawings that are kept for a page that misses them


class Numbering:
    """Counts the drawings that were sent over one socket, and what the page says has arrived.

    A page takes in only the next number, or one that begins anew; what came twice or late it lets go. After a
    last drawing that is lost nothing would show that, so a page that has not said that it has the latest is
    told the latest number, again and again. Whoever never says anything is not asked. The latest drawings are
    kept, as far as they are small, and sent once more to a page that lacks no others.
    """

    def __init__(self) -> None:
        self.latest = 0
        self.arrived: int | None = None
        self._anew = False
        self._kept: deque[str] = deque()
        self._size = 0

    def begin_anew(self) -> None:
        """What is labelled next needs nothing of what was sent before."""
        self._anew = True

    def label(self, drawing: str) -> str:
        """The drawing with its number, in a comment that shows nowhere."""
        self.latest += 1
        anew, self._anew = self._anew, False
        labelled = f"<!--{self.latest}{' anew' if anew else ''}-->{drawing}"
        self._keep(labelled)
        return labelled

    def _keep(self, labelled: str) -> None:
        self._kept.append(labelled)
        self._size += len(labelled)
        while self._size > KEPT:
            self._size -= len(self._kept.popleft())

    def since(self, number: int) -> list[str]:
        """The drawings after that one as they were sent; none where some are not kept any more."""
        count = self.latest - number
        return list(self._kept)[-count:] if 0 < count <= len(self._kept) else []

    def mark(self) -> str:
        """What tells the page the latest number; empty where it has said that it has that."""
        if self.arrived in (None, self.latest):
            return ""
        return json.dumps({"type": "mark", "number": self.latest})
