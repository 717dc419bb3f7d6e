"""Frames: HTML for open tabs, numbered by the worker so that a page notices a gap.

A frame begins with a comment that holds its position, `<!--turn.fence.n-->`. The page applies the frame that
follows its own position, drops older ones, and requests a resync on anything else (static/js/connection.js).
There are five more forms:

- `<!--turn.fence.n after previous-->` draws the whole turn. The first frame of a claim (n is 0 or 1) and the
  last of the turn need no earlier frame of it, only the end of the `previous` turn. In between the page needs
  all before it, as it has neither the todo panel nor the meter. A turn that begins to wait gets another fence
  and goes on counting;
- `<!--=turn.fence.n-->` answers a resync;
- `<!--!turn.fence.n-->` answers it with the whole transcript, as the page shows another path. Its position
  holds even if it is an earlier one;
- `<!--turn.fence.n text SELECTOR-->` appends plain text to the selected element;
- `<!--turn.fence.n panel REVISION-->` draws the todo panel, unless the page shows a later revision, made by
  the user.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from chat.files.conversation_workspace import workspace_of
from chat.live.activity import Activity
from chat.live.call_group import CallGroup, Row
from chat.live.context_meter import ContextMeter
from chat.live.markdown import Place
from chat.live.todo_panel import TodoPanel
from chat.live.usage_text import format_duration
from chat.models import Message, Step, Summary, ToolCall, Turn

END = 2**31  # the number of a turn's last frame


class Position(NamedTuple):
    """How far a page is: the turn, its fencing token, and the worker's frame count."""

    turn: int = 0
    fence: int = 0
    number: int = END

    def __str__(self) -> str:
        return ".".join(map(str, self))


def position_of(turn: Turn) -> Position:
    return Position(turn.pk, turn.fence, turn.frame if turn.is_active else END)


def frame(position: Position, html: str) -> str:
    return f"<!--{position}-->{html}"


def key_frame(position: Position, previous: int, html: str) -> str:
    """A frame that draws the whole turn, for pages on which turn `previous` (0 for none) has ended."""
    return f"<!--{position} after {previous}-->{html}"


def resync_frame(position: Position, html: str) -> str:
    return f"<!--={position}-->{html}"


def path_frame(position: Position, html: str) -> str:
    return f"<!--!{position}-->{html}"


def text_frame(position: Position, selector: str, text: str) -> str:
    """Plain text to append to an element. The selector must not contain `-->`."""
    return f"<!--{position} text {selector}-->{text}"


def panel_frame(position: Position, revision: int, html: str) -> str:
    return f"<!--{position} panel {revision}-->{html}"


def message(text: str) -> dict[str, Any]:
    return {"type": "chat.frame", "text": text}


@dataclass(frozen=True)
class RowChanged:
    row: Message | ToolCall | Summary
    new: bool = False


@dataclass(frozen=True)
class TextGrew:
    """A message that is being written has more text or reasoning."""

    message: Message


@dataclass(frozen=True)
class OutputShortened:
    """The model now reads a shortened output of a call, possibly of an earlier turn."""

    call: ToolCall


@dataclass(frozen=True)
class PanelChanged:
    """The todo panel has changed; it includes the user's edits up to revision `edited`."""

    panel: TodoPanel | None
    edited: int = 0


@dataclass(frozen=True)
class ContextGrew:
    """A step's usage is known."""

    meter: ContextMeter | None
    step: Step


@dataclass(frozen=True)
class TurnChanged:
    """The whole turn must be redrawn: it began, ended, or has a new status message."""


Change = RowChanged | TextGrew | OutputShortened | PanelChanged | ContextGrew | TurnChanged


# Rows rendered for the socket, with the partials that pages include too.
#
# The browser looks up the targets of all partials in a message before it changes any. A partial whose target
# an earlier one creates therefore goes into a message of its own.


def draw(row: Row | CallGroup, read_only: object = None) -> SafeString:
    """A row's HTML; `read_only` is a chat.export.page.ReadOnly on read-only pages."""
    context: dict[str, object] = {"read_only": read_only}
    if isinstance(row, CallGroup):
        return render_to_string("partials/_call_group.html", context | {"group": row})
    if isinstance(row, Message):
        return render_to_string("partials/_message.html", context | {"message": row})
    if isinstance(row, Summary):
        return render_to_string("partials/_summary.html", context | {"summary": row})
    name = "todo_marker" if row.is_todo_write else "tool_call"
    return render_to_string(f"partials/_{name}.html", context | {"call": row})


def draw_turn(turn: Turn) -> SafeString:
    return render_to_string("partials/_turn.html", {"turn": turn})


def turn_message(turn: Turn) -> str:
    """Redraw a turn, with notes on earlier outputs that it has shortened. Reads the database."""
    earlier = turn.shortened_calls.exclude(turn=turn).only("pk", "shortened")
    whole = partial(f"#turn-{turn.pk}", "outerMorph", draw_turn(turn))
    return whole + "".join(map(shortened_message, earlier))


def row_messages(row: Row | CallGroup, *, new: bool, group: CallGroup | None = None) -> list[str]:
    """Redraw a row, or add a new one unless the tab got it with a redraw of the whole turn.

    Then it may stand elsewhere: a message without text is in a group, and after its first words beside it.
    """
    if not new:
        return [partial(f"#{row.dom_id}", "outerMorph", draw(row))]
    rows = f"#turn-{row.turn_id}-rows"
    if isinstance(row, CallGroup):
        lacks_first = f"{rows}:not(:has(#{row.rows[0].dom_id}))"
        return _placed(lacks_first, "div", "call-group", row.dom_id, draw(row))
    tag, style = ("div", "message")
    if isinstance(row, Summary):
        tag, style = ("details" if row.text else "div", "summary")
    if isinstance(row, ToolCall):
        tag, style = ("div", "todo-marker") if row.is_todo_write else ("details", "tool-call")
    lacks_it = f"{rows}:not(:has(#{row.dom_id}))"
    container = f"{lacks_it} > #{group.dom_id}" if group else lacks_it
    return _placed(container, tag, style, row.dom_id, draw(row))


def attachments_message(message: Message) -> str:
    """Redraw the files of a message. Reads the database."""
    turn = message.turn
    context = {"attachments": message.attachments.all(), "at": turn, "blind": turn.vision_unsupported}
    html = render_to_string("partials/_attachments.html", context)
    return partial(f"#{message.dom_id} > .attachments", "outerMorph", html)


def line_message(group: CallGroup) -> str:
    """Show what the finished calls of a group did."""
    html = render_to_string("partials/_call_group_line.html", {"group": group})
    return partial(f"#{group.dom_id} > .call-group__line", "outerMorph", html)


def _placed(container: str, tag: str, style: str, dom_id: str, html: str) -> list[str]:
    shell = format_html('<{0} class="{1}" id="{2}" hidden></{0}>', tag, style, dom_id)
    return [partial(container, "beforeend", shell), partial(f"#{dom_id}", "outerMorph", html)]


def shortened_message(call: ToolCall) -> str:
    html = render_to_string("partials/_shortened.html", {"call": call})
    return partial(f"#{call.shortened_dom_id}", "outerMorph", html)


def place_of(message: Message) -> Place:
    """Where the message's Markdown is shown. A later message shows the pictures as they are by then."""
    workspace = workspace_of(message.turn.conversation)
    return Place(version=message.dom_id, name=message.dom_id, workspace=workspace)


def tail_of(message: Message, settled: int, html: str, *, live: bool) -> SafeString:
    """The open end of a message being written, after `settled` characters.

    Only a `live` one, rendered by the worker, can grow; one from the rows may be up to a second behind.
    """
    mark = mark_safe(" data-live") if live else ""
    inside = mark_safe(html)  # noqa: S308 (from markdown)
    return format_html('<div id="{}-tail" data-from="{}"{}>{}</div>', message.dom_id, settled, mark, inside)


def thought_line(message: Message) -> str:
    """The line above the reasoning: what the model does, then how long it took."""
    if message.thought_for is None:
        return pgettext("activity", "Thinking")
    if message.thought_for == 0:
        return _("Thought for less than a second")
    return _("Thought for %(duration)s") % {"duration": format_duration(message.thought_for)}


def thought_of(message: Message, start: int, text: str, *, live: bool) -> SafeString:
    """The reasoning from character `start` on, in an element that can grow."""
    mark = mark_safe(" data-live") if live else ""
    return format_html('<span id="{}-thought" data-from="{}"{}>{}</span>', message.dom_id, start, mark, text)


def panel_message(panel: TodoPanel | None) -> str:
    """Redraw the panel in place: a field in it keeps its text, caret and an input method's composition."""
    return partial("#todo-slot", "innerMorph", draw_panel(panel))


def draw_panel(panel: TodoPanel | None) -> SafeString:
    return render_to_string("partials/_todo_panel.html", {"panel": panel}) if panel else SafeString()


def row_plan_message(panel: TodoPanel) -> str:
    """Show how far the plan is in the sidebar's row of its conversation."""
    target = f"[data-conversation='{panel.conversation_id}'] .conversation-row__plan"
    return partial(target, "innerHTML", render_to_string("partials/_row_plan.html", {"plan": panel}))


def context_message(meter: ContextMeter | None, turn: Turn) -> str:
    html = render_to_string("partials/_context_meter.html", {"meter": meter, "v": turn.pk})
    return partial("#context-meter", "outerMorph", html)


def busy_message(turn: Turn, activity: Activity) -> str:
    """Show what the turn does now."""
    html = render_to_string("partials/_turn_busy.html", {"turn": turn, "activity": activity})
    return partial(f"#turn-{turn.pk} > .turn__end > .turn__busy", "outerMorph", html)


def partial(target: str, swap: str, html: str) -> str:
    return format_html('<hx-partial hx-target="{}" hx-swap="{}">{}</hx-partial>', target, swap, html)
