"""Large parts of a tool call are shown folded: beginning and end; opening one fetches the rest.

So pages and frames do not grow with tool output. Calls that wait for approval or run are shown whole, and so
are all calls on a read-only page (chat.export.page).
"""

from __future__ import annotations

from typing import NamedTuple

from chat.live.diff import Diff
from chat.models import ToolCall

FOLD_ABOVE = 4 * 1024  # characters

MAX_LINES = 4  # shown at each end
MAX_CHARACTERS = 400
MAX_ARGUMENTS = 10  # shown
MAX_NAME_LENGTH = 100  # characters

UNFOLDED = (ToolCall.Status.WAITING, ToolCall.Status.RUNNING)


class Fold(NamedTuple):
    """A text's beginning and end, and the number of characters between them."""

    beginning: str
    left_out: int = 0
    end: str = ""


def is_folded(call: ToolCall, part: str | Diff) -> bool:
    size = part.size if isinstance(part, Diff) else len(part)
    return size > FOLD_ABOVE and call.status not in UNFOLDED


def folded(text: str) -> Fold:
    """A few lines from each end of the text; the text itself if it is hardly longer."""
    if len(text) <= 2 * MAX_CHARACTERS:
        return Fold(text)
    beginning = "".join(text[:MAX_CHARACTERS].splitlines(keepends=True)[:MAX_LINES])
    end = "".join(text[-MAX_CHARACTERS:].splitlines(keepends=True)[-MAX_LINES:])
    return Fold(beginning, len(text) - len(beginning) - len(end), end)


def folded_arguments(call: ToolCall) -> list[tuple[str, Fold]]:
    arguments = list(call.parsed_arguments.items())[:MAX_ARGUMENTS] or [("", call.arguments)]
    return [(name[:MAX_NAME_LENGTH], folded(str(value))) for name, value in arguments]
