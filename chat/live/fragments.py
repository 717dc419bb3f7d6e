"""Rows drawn for the socket: the partials that the pages include too, addressed to their place on the page.

One socket message may hold several partials, whose targets the browser looks up before it changes any; what
must find the result of an earlier change therefore goes into a message of its own.
"""

from __future__ import annotations

from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from chat.live.context_meter import ContextMeter
from chat.live.todo_panel import TodoPanel
from chat.models import Message, Summary, ToolCall, Turn

Row = Message | Summary | ToolCall


def draw(row: Row, reading: object = None) -> SafeString:
    """A row's HTML; `reading` (chat.export.reading) is for pages on which nothing can be done."""
    context: dict[str, object] = {"reading": reading}
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
