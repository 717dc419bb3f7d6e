"""What the terminal is written on: a stream that knows where its line stands, and a few calm colours."""

from __future__ import annotations

import os
import re
from typing import TextIO

# A model or a tool may send escape sequences that move the cursor, change colours or type for the person.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

COLOURS = {"": "", "strong": "1", "quiet": "2", "done": "32", "now": "36", "fault": "31"}


class Paper:
    """Writes text at once, stripped of control characters; with `colour`, in the colours of a terminal.

    When whoever reads the stream has gone, what is written is lost, and nothing is raised: turns are kept
    in the record, whether anybody looks on or not.
    """

    def __init__(self, stream: TextIO, *, colour: bool) -> None:
        self.stream = stream
        self.colour = colour
        self._ends = "\n\n"  # the last two characters: nothing stands above the first line

    def write(self, text: str, colour: str = "") -> None:
        """Write text where the last one ended. `colour` is one of COLOURS."""
        text = printable(text)
        if not text:
            return
        self._ends = (self._ends + text)[-2:]
        code = COLOURS[colour] if self.colour else ""
        try:
            self.stream.write(f"\x1b[{code}m{text}\x1b[0m" if code else text)
            self.stream.flush()
        except OSError:
            self._lose_reader()

    def line(self, text: str = "", colour: str = "") -> None:
        """Write text on lines of its own."""
        self.end_line()
        self.write(text, colour)
        self.write("\n")

    def end_line(self) -> None:
        """Begin a new line, unless one has just begun."""
        if not self._ends.endswith("\n"):
            self.write("\n")

    def gap(self) -> None:
        """Leave one blank line above what comes next."""
        self.end_line()
        if self._ends != "\n\n":
            self.write("\n")

    def was_answered(self) -> None:
        """The person has pressed Enter: the line stands at its beginning."""
        self._ends = " \n"

    def _lose_reader(self) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.stream.fileno())
        os.close(nowhere)


def printable(text: str) -> str:
    """The text without characters that command a terminal rather than show; line ends become plain ones."""
    return _UNPRINTABLE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
