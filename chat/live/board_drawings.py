"""The board drawn for the socket: the partials that its page includes too."""

from __future__ import annotations

from collections.abc import Callable

from django.template.loader import render_to_string
from django.utils.html import escape

from chat.live.board import Board
from chat.live.fragments import partial
from chat.live.outline import Outline

# What each section shows, of all that the outline tells.
SECTIONS: dict[str, Callable[[Outline], object]] = {
    "running": lambda outline: outline.running,
    "unseen": lambda outline: (outline.unseen, outline.attention.unseen),
    "unfinished": lambda outline: (outline.unfinished, outline.more),
}


def board_message(board: Board, shown: Outline | None) -> str:
    """The socket message for the sections that differ from what is shown; all of them where nothing is.

    One message, so that a conversation that goes from one section to another is in one of them only.
    """
    now = board.outline
    drawings = [
        _section(board, name) for name, told in SECTIONS.items() if shown is None or told(now) != told(shown)
    ]
    if shown is None or now.attention != shown.attention:
        drawings.append(partial("head > title", "innerHTML", escape(board.title)))
    return "".join(drawings)


def _section(board: Board, name: str) -> str:
    html = render_to_string(f"partials/_board_{name}.html", {"board": board})
    return partial(f"#board-{name}", "outerMorph", html)
