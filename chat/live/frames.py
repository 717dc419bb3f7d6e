"""Frames: HTML for open tabs, numbered by the worker so that a page sees a gap.

A frame begins with a comment that holds its position, `<!--turn.fence.n-->`. The page applies the frame that
follows the one it has, drops older ones, and asks for what it lacks on anything else
(static/js/connection.js). Four more forms exist:

- `<!--turn.fence.n after previous-->` draws the turn whole, so the page needs none of its earlier frames,
only
  the end of the `previous` turn;
- `<!--=turn.fence.n-->` answers a page that asked;
- `<!--turn.fence.n text SELECTOR-->` appends plain text to the element that the selector names;
- `<!--turn.fence.n panel REVISION-->` draws the todo panel, unless the page shows a later revision, which the
  user made.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from chat.models import Turn

END = 2**31  # the number of a turn's last frame: nothing of it comes later


class Position(NamedTuple):
    """How far a page is: the turn, the claim under which it runs, and the worker's count of frames."""

    turn: int = 0
    fence: int = 0
    number: int = END

    def __str__(self) -> str:
        return ".".join(map(str, self))


def position_of(turn: Turn | None) -> Position:
    """The position of a page that was drawn from the rows of a conversation's latest turn."""
    if turn is None:
        return Position()
    return Position(turn.pk, turn.fence, turn.frame if turn.is_active else END)


def frame(position: Position, html: str) -> str:
    """A frame that follows the one before it."""
    return f"<!--{position}-->{html}"


def key_frame(position: Position, previous: int, html: str) -> str:
    """A frame that draws its turn whole, for pages on which turn `previous` (0 for none) has ended."""
    return f"<!--{position} after {previous}-->{html}"


def resync_frame(position: Position, html: str) -> str:
    """The turn as its rows have it, for a page that asked."""
    return f"<!--={position}-->{html}"


def text_frame(position: Position, selector: str, text: str) -> str:
    """Plain text to append to an element. The selector holds no `-->`."""
    return f"<!--{position} text {selector}-->{text}"


def panel_frame(position: Position, revision: int, html: str) -> str:
    """The todo panel, drawn over that revision of the list."""
    return f"<!--{position} panel {revision}-->{html}"


def message(text: str) -> dict[str, Any]:
    """The channel layer's message that carries a frame."""
    return {"type": "chat.frame", "text": text}
