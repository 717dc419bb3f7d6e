"""How much of the model's context window a request may use."""

from __future__ import annotations

import re
from dataclasses import dataclass

from chat.agent.model import ModelError
from chat.agent.model.errors import window_in

RESERVE = 8192  # tokens kept free for the reply in a large window
FULL = 0.8  # of the room; the conversation is compacted above it
GOAL = 0.5  # of the room; the size after compaction. Far below FULL: each time costs the prompt cache
ENOUGH = 0.65  # of the room; no summary if trimming alone gets below this

_MAX_RATIO = 50  # of the window: no request is that long, so a larger number is something else


@dataclass(frozen=True)
class Window:
    size: int  # tokens of request and reply together; 0 if unknown
    longest_reply: int = 0

    @property
    def room(self) -> int:
        return self.size - min(self.longest_reply or RESERVE, self.size // 4)


@dataclass(frozen=True)
class Overflow:
    """The tokens of a too long request and of the window, as the error states them; 0 if it does not."""

    request: int
    window: int

    @classmethod
    def of(cls, error: ModelError) -> Overflow:
        report = getattr(error, "report", None)
        text = str(report.text if report else error.values.get("detail", "")).lower()
        window = window_in(text)
        numbers = [int(number) for number in re.findall(r"\d{3,12}", text)]
        return cls(max((each for each in numbers if window < each <= window * _MAX_RATIO), default=0), window)
