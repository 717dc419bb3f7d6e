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

from dataclasses import dataclass
from typing import Any, NamedTuple

from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from chat.live.context_meter import ContextMeter
from chat.live.todo_panel import TodoPanel
from chat.models import Message, Summary, ToolCall, Turn

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


@dataclass(frozen=True)
class RowChanged:
    """A row is new, or has other content."""

    row: Message | ToolCall | Summary
    new: bool = False


@dataclass(frozen=True)
class TextGrew:
    """A message that is being written has more text, or more of its reasoning."""

    message: Message


@dataclass(frozen=True)
class OutputShortened:
    """The model reads less of a call's output from now on, perhaps one of an earlier turn."""

    call: ToolCall


@dataclass(frozen=True)
class PanelChanged:
    """The list on show is another. It has what the person changed up to revision `edited`."""

    panel: TodoPanel | None
    edited: int = 0


@dataclass(frozen=True)
class ContextGrew:
    """The model's window is as full as the meter says."""

    meter: ContextMeter | None


@dataclass(frozen=True)
class TurnChanged:
    """The turn as a whole is to be drawn again: it began, ended, or has something to say."""


Change = RowChanged | TextGrew | OutputShortened | PanelChanged | ContextGrew | TurnChanged


# Rows drawn for the socket: the partials that the pages include too, addressed to their place on the page.
#
# One socket message may hold several partials, whose targets the browser looks up before it changes any; what
# must find the result of an earlier change therefore goes into a message of its own.

Row = Message | Summary | ToolCall


def draw(row: Row, read_only: object = None) -> SafeString:
    """A row's HTML; `read_only` is a chat.export.page.ReadOnly on read-only pages."""
    context: dict[str, object] = {"read_only": read_only}
    if isinstance(row, Message):
        return render_to_string("partials/_message.html", context | {"message": row})
    if isinstance(row, Summary):
        return render_to_string("partials/_summary.html", context | {"summary": row})
    name = "todo_marker" if row.is_todo_write else "tool_call"
    return render_to_string(f"partials/_{name}.html", context | {"call": row})


def draw_turn(turn: Turn) -> SafeString:
    """A whole turn's HTML."""
    return render_to_string("partials/_turn.html", {"turn": turn})


def turn_message(turn: Turn) -> str:
    """The message that draws a turn as it stands, on a page that has its element. Reads the database.

    With it come the notes on outputs of earlier turns that were shortened in this one.
    """
    earlier = turn.shortened_calls.exclude(turn=turn).only("pk", "shortened")
    whole = partial(f"#turn-{turn.pk}", "outerMorph", draw_turn(turn))
    return whole + "".join(map(shortened_message, earlier))


def row_messages(row: Row, *, new: bool) -> list[str]:
    """Add a new row to its turn, or redraw one that is there.

    A tab that was sent the turn whole meanwhile has a new row already, perhaps in an older state.
    """
    if not new:
        return [partial(f"#{row.dom_id}", "outerMorph", draw(row))]
    tag, style = ("div", "message")
    if isinstance(row, Summary):
        tag, style = ("details" if row.text else "div", "summary")
    if isinstance(row, ToolCall):
        tag, style = ("div", "todo-marker") if row.is_todo_write else ("details", "tool-call")
    return _placed(f"#turn-{row.turn_id}-rows", tag, style, row.dom_id, draw(row))


def _placed(container: str, tag: str, style: str, dom_id: str, html: str) -> list[str]:
    """Make sure that the container ends with an element of that id and class, then draw the element."""
    shell = format_html('<{0} class="{1}" id="{2}"></{0}>', tag, style, dom_id)
    missing = f"{container}:not(:has(> #{dom_id}))"
    return [partial(missing, "beforeend", shell), partial(f"#{dom_id}", "outerMorph", html)]


def shortened_message(call: ToolCall) -> str:
    """Note at a call's output that the model reads less of it."""
    html = render_to_string("partials/_shortened.html", {"call": call})
    return partial(f"#{call.note_id}", "outerMorph", html)


def tail_of(message: Message, settled: int, html: str, *, live: bool) -> SafeString:
    """The open end of a message that is being written, with the length of the text before it.

    Only one that the worker has drawn is `live`: what grows is added there. Another was drawn from the
    rows, which may be up to a second behind.
    """
    mark = mark_safe(" data-live") if live else ""
    inside = mark_safe(html)  # noqa: S308 (from markdown)
    return format_html('<div id="{}-tail" data-from="{}"{}>{}</div>', message.dom_id, settled, mark, inside)


def thought_of(message: Message, start: int, piece: str, *, live: bool) -> SafeString:
    """The reasoning of a message that is being written, from character `start` on, in an element that
    grows.
    """
    mark = mark_safe(" data-live") if live else ""
    return format_html('<span id="{}-thought" data-from="{}"{}>{}</span>', message.dom_id, start, mark, piece)


def panel_message(panel: TodoPanel | None) -> str:
    """Show the panel: morphed if the tab has the same turn and phase, so that a fold stays; else replaced."""
    html = draw_panel(panel)
    if panel is None:
        return partial("#todo-slot", "innerHTML", html)
    other = f'#todo-panel:not([data-turn="{panel.turn_id}"][data-phase="{panel.phase}"])'
    return partial(other, "delete", "") + partial("#todo-slot", "innerMorph", html)


def draw_panel(panel: TodoPanel | None) -> SafeString:
    """The panel's HTML; empty for none."""
    return render_to_string("partials/_todo_panel.html", {"panel": panel}) if panel else SafeString()


def context_message(meter: ContextMeter | None, turn: Turn) -> str:
    """Show how full the model's window is, and what the conversation took so far, up to that turn."""
    html = render_to_string("partials/_context_meter.html", {"meter": meter, "v": turn.pk})
    return partial("#context-meter", "outerMorph", html)


def partial(target: str, swap: str, html: str) -> str:
    """An htmx partial: put `html` where the selector says, in the way that `swap` names."""
    return format_html('<hx-partial hx-target="{}" hx-swap="{}">{}</hx-partial>', target, swap, html)
