"""How much a request may hold."""

from __future__ import annotations

import re
from dataclasses import dataclass

from chat.agent.model import ModelError
from chat.agent.model.errors import window_in

RESERVE = 8192  # tokens kept free for the reply, where the window is large
FULL = 0.8  # of the room; beyond it the conversation is made shorter
GOAL = 0.5  # of the room; what is left then. Far below, because each time costs the endpoint's prompt cache
ENOUGH = 0.65  # of the room; with so little left after trimming alone, nothing is summarised

_FARTHEST = 50  # times the window: no request is that long, so a larger number is something else


@dataclass(frozen=True)
class Window:
    """The tokens that request and reply may have together; a `size` of 0 is not known."""

    size: int
    longest_reply: int = 0

    @property
    def room(self) -> int:
        """What a request may have of it."""
        return self.size - min(self.longest_reply or RESERVE, self.size // 4)


@dataclass(frozen=True)
class Overflow:
    """What an error says of a request that was too long: its tokens and the window's, 0 where it does not."""

    asked: int
    window: int

    @classmethod
    def of(cls, error: ModelError) -> Overflow:
        """The numbers in an endpoint's words."""
        complaint = getattr(error, "complaint", None)
        said = str(complaint.said if complaint else error.values.get("detail", "")).lower()
        window = window_in(said)
        asked = [int(number) for number in re.findall(r"\d{3,12}", said)]
        return cls(max((each for each in asked if window < each <= window * _FARTHEST), default=0), window)
