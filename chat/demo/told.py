"""The notes that stand ahead of a message: reminders, and the list as the person has changed it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_NOTE = re.compile(r"\A\s*<(reminder|todo-change)>(.*?)</\1>\s*", re.DOTALL)
_LINE = re.compile(
    r"^\[(?P<mark>[ x>])\] (?:(?P<id>\d{1,4}): )?(?P<text>.+?)(?: <- (?P<doing>.+))?$", re.MULTILINE
)
_STATES = {" ": "pending", ">": "in_progress", "x": "completed"}


@dataclass(frozen=True)
class Notes:
    """`changed` holds the arguments of a list as the person has left it; None where they changed nothing."""

    reminded: bool = False
    changed: dict[str, Any] | None = None


def parted(text: str) -> tuple[Notes, str]:
    """The notes ahead of a text, and the text itself."""
    reminded, changed = False, None
    while found := _NOTE.match(text):
        reminded |= found[1] == "reminder"
        if found[1] == "todo-change":
            changed = _list(found[2])
        text = text[found.end() :]
    return Notes(reminded, changed), text


def _list(note: str) -> dict[str, Any]:
    return {
        "items": [
            {
                "id": line["id"] or "",
                "content": line["text"],
                "status": _STATES[line["mark"]],
                "activeForm": line["doing"] or "",
            }
            for line in _LINE.finditer(note)
        ]
    }
