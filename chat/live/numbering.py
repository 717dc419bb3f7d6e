"""Numbers on what goes to a page, by which the page sees that something is missing, and says what it has."""

from __future__ import annotations

import json


class Numbering:
    """Counts the drawings that were sent over one socket, and what the page says has arrived.

    A page takes in only the next number, or one that begins anew; what came twice or late it lets go. After a
    last drawing that is lost nothing would show that, so a page that has not said that it has the latest is
    told the latest number, again and again. Whoever never says anything is not asked.
    """

    def __init__(self) -> None:
        self.latest = 0
        self.arrived: int | None = None
        self._marked = 0
        self._anew = False

    def begin_anew(self) -> None:
        """What is labelled next needs nothing of what was sent before."""
        self._anew = True

    def label(self, drawing: str) -> str:
        """The drawing with its number, in a comment that shows nowhere."""
        self.latest += 1
        anew, self._anew = self._anew, False
        return f"<!--{self.latest}{' anew' if anew else ''}-->{drawing}"

    def mark(self) -> str:
        """What tells the page the latest number; empty where it has it, or where that is on its way."""
        settled = self._marked == self.latest
        self._marked = self.latest
        if self.arrived in (None, self.latest) or not settled:
            return ""
        return json.dumps({"type": "mark", "number": self.latest})
