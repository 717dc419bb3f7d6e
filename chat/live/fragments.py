"""Rows drawn for the socket: the partials that the pages include too, addressed to their place on the page.

One socket message may hold several partials, whose targets the browser looks up before it changes any; what
must find the result of an earlier change therefore goes into a message of its own.
"""

from __future__ import annotations

from django.template.loader import render_to_string
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from chat.live.context_meter import ContextMeter
from chat.live.profile_choice import profile_choice
from chat.live.todo_panel import TodoPanel
from chat.live.unfinished import unfinished_of
from chat.models import Conversation, FollowUp, Message, Summary, ToolCall, Turn

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


def turn_messages(turn: Turn) -> list[str]:
    """Put the turn on the page as it stands, whether the page has it or not. Reads the database.

    With it come the notes on outputs of earlier turns that were shortened in this one.
    """
    shell, whole = _placed("#transcript", "article", "turn", f"turn-{turn.pk}", draw_turn(turn))
    earlier = turn.shortened_calls.exclude(turn=turn).only("pk", "shortened")
    return [shell, whole + "".join(map(shortened_message, earlier))]


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


def thought_message(message: Message, piece: str) -> str:
    """Add a piece to the reasoning of a message that is being written. Until it is drawn whole, in a span:
    blanks at its ends stay."""
    added = format_html("<span>{}</span>", piece)
    return partial(f"#{message.dom_id} .reasoning__text", "beforeend", added) if piece else ""


def text_message(message: Message, settled: str, tail: str) -> str:
    """Add settled blocks to a message that is being written, and redraw its open end."""
    end = f"#{message.dom_id}-tail"
    blocks = partial(end, "beforebegin", mark_safe(settled)) if settled else ""  # noqa: S308 (from markdown)
    return blocks + partial(end, "innerMorph", mark_safe(tail))  # noqa: S308


def panel_message(panel: TodoPanel | None) -> str:
    """Show the panel: morphed where the tab has the same turn and phase, so that a fold stays; else anew."""
    html = draw_panel(panel)
    if panel is None:
        return partial("#todo-slot", "innerHTML", html)
    same = f'#todo-panel[data-turn="{panel.turn_id}"][data-phase="{panel.phase}"]'
    return partial(same, "outerMorph", html) + partial(f"#todo-slot:not(:has({same}))", "innerHTML", html)


def draw_panel(panel: TodoPanel | None) -> SafeString:
    """The panel's HTML; empty for none."""
    return render_to_string("partials/_todo_panel.html", {"panel": panel}) if panel else SafeString()


def context_message(meter: ContextMeter | None) -> str:
    """Show how full the model's window is, and what the conversation took so far."""
    html = render_to_string("partials/_context_meter.html", {"meter": meter})
    return partial("#context-meter", "outerMorph", html)


def approval_message(conversation: Conversation) -> str:
    """Say beside the composer which call waits for the person, or that none does. Reads the database."""
    waiting = conversation.waiting_call() if conversation.waits else None
    html = render_to_string("partials/_approval_note.html", {"waiting": waiting})
    return partial("#approval-note", "outerMorph", html)


def unfinished_message(conversation: Conversation) -> str:
    """Say beside the composer how much of the list is left, where nothing works on it. Reads the database."""
    html = render_to_string("partials/_unfinished.html", {"unfinished": unfinished_of(conversation)})
    return partial("#unfinished", "outerMorph", html)


def follow_ups_message(conversation: Conversation, held: list[FollowUp]) -> str:
    """Show which messages are held."""
    context = {"follow_ups": held, "conversation": conversation}
    return partial("#follow-ups", "outerMorph", render_to_string("partials/_follow_ups.html", context))


def listing_message(row: Conversation, page: Conversation | None = None) -> str:
    """Redraw a conversation's row, with the counts of its `plan`, beside its own page or another's."""
    context = {"row": row, "conversation": page or row}
    html = render_to_string("partials/_conversation_row.html", context)
    return partial(f'#sidebar [data-conversation="{row.pk}"]', "outerMorph", html)


def organised_message(conversation: Conversation) -> str:
    """Say in its menu and above the composer whether it is pinned or archived, and its tags."""
    context = {"conversation": conversation}
    menu = render_to_string("partials/_organised.html", context)
    note = render_to_string("partials/_archived.html", context)
    return partial("#organised", "outerMorph", menu) + partial("#archived", "outerMorph", note)


def title_message(conversation: Conversation) -> str:
    """Say above the transcript, and in the tab, how the conversation is called."""
    context = {"conversation": conversation}
    return "".join(
        [
            partial("#title", "outerMorph", render_to_string("partials/_title.html", context)),
            partial("#rename-title", "outerMorph", render_to_string("partials/_rename_title.html", context)),
            partial("head > title", "innerHTML", escape(conversation.title)),
        ]
    )


def profile_message(conversation: Conversation) -> str:
    """Say at the composer which profile answers next. Reads the database."""
    html = render_to_string("partials/_profile_choice.html", profile_choice(conversation))
    return partial("#profile-choice", "outerMorph", html)


def state_message(conversation: Conversation, status: str) -> str:
    """Tell the page whether the conversation works; only the attributes of its main element change."""
    html = render_to_string("partials/_main_tag.html", {"conversation": conversation, "status": status})
    return partial("#conversation", "outerMorph", SafeString(f"{html}</main>"))


def partial(target: str, swap: str, html: str) -> str:
    """An htmx partial: put `html` where the selector says, in the way that `swap` names."""
    return format_html('<hx-partial hx-target="{}" hx-swap="{}">{}</hx-partial>', target, swap, html)
