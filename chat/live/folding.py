"""Large parts of a tool call are drawn folded: their beginning and end, with the whole fetched once it is
opened.

So neither a page nor a frame grows with what tools print or are given. A call that the user is asked about
or watches is drawn whole, and so is every call on a page that stands apart from the site
(chat.export.page).
"""

from __future__ import annotations

from typing import NamedTuple

from chat.live.diff import Diff
from chat.models import ToolCall

FOLD_ABOVE = 4 * 1024  # characters

LINES = 4  # shown at each end
CHARACTERS = 400
ARGUMENTS = 10  # shown of many
LONGEST_NAME = 100  # characters

WATCHED = (ToolCall.Status.WAITING, ToolCall.Status.RUNNING)


class Fold(NamedTuple):
    """A text's beginning and end, and how many characters lie between them."""

    beginning: str
    left_out: int = 0
    end: str = ""


def is_folded(call: ToolCall, part: str | Diff) -> bool:
    """Whether that part of the call is drawn folded."""
    size = part.size if isinstance(part, Diff) else len(part)
    return size > FOLD_ABOVE and call.status not in WATCHED


def folded(text: str) -> Fold:
    """A few lines of a text from each end; the text itself if that is not much more."""
    if len(text) <= 2 * CHARACTERS:
        return Fold(text)
    beginning = "".join(text[:CHARACTERS].splitlines(keepends=True)[:LINES])
    end = "".join(text[-CHARACTERS:].splitlines(keepends=True)[-LINES:])
    return Fold(beginning, len(text) - len(beginning) - len(end), end)


def folded_arguments(call: ToolCall) -> list[tuple[str, Fold]]:
    """The same of what the call was given, by name; nameless if that is no object."""
    given = list(call.parsed_arguments.items())[:ARGUMENTS] or [("", call.arguments)]
    return [(name[:LONGEST_NAME], folded(str(value))) for name, value in given]
