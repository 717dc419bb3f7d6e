"""Template tags that render rows with the same functions as the socket."""

from __future__ import annotations

import datetime
import unicodedata
from typing import TYPE_CHECKING

from django import template
from django.template import Context
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from chat.files.baseline import baseline_of
from chat.files.conversation_workspace import workspace_of
from chat.files.preview import FilePreview
from chat.live import folding, frames, markdown
from chat.live.board import BOARD_REGIONS, BoardState
from chat.live.call_group import CallGroup, Row, grouped
from chat.live.diff import Diff, diff_of_call
from chat.live.regions import REGIONS, ConversationState
from chat.models import Attachment, Conversation, FollowUp, Message, TodoRevision, ToolCall, Turn
from chat.models.follow_up import own_words

if TYPE_CHECKING:
    from chat.export.page import ReadOnly

register = template.Library()
LONG_MESSAGE = 1500  # characters
LONG_MESSAGE_LINES = 12
HIDDEN = ("Cc", "Cf", "Zl", "Zp")  # Unicode categories of control, format and separator characters


@register.simple_tag(takes_context=True)
def draw(context: Context, row: Row | CallGroup) -> SafeString:
    return frames.draw(row, context.get("read_only"))


@register.simple_tag
def rows_of(turn: Turn) -> list[Row | CallGroup]:
    """The turn's rows, its calls in groups: `{% rows_of turn as rows %}`."""
    return grouped(turn.rows())


@register.simple_tag
def last_list(turn: Turn) -> TodoRevision | None:
    """The list as the turn left it, with the edits that were kept: `{% last_list turn as revision %}`."""
    done = [call for call in turn.tool_calls.all() if call.status == ToolCall.Status.SUCCEEDED]
    lists = sorted((call for call in done if call.is_todo_write), key=lambda call: call.sort_key)
    if not lists:
        return None
    revision: TodoRevision = lists[-1].revision
    if turn.kept_list_pk and turn.kept_list_pk > revision.pk:
        return TodoRevision(pk=turn.kept_list_pk, items=turn.kept_list)
    return revision


@register.simple_tag(takes_context=True)
def moment(context: Context, row: Row | Turn) -> SafeString:
    """The row's start and duration as data attributes, for a replay: `{% moment row %}` within a tag."""
    if not getattr(context.get("read_only"), "replays", False):
        return SafeString()
    shown_at = row.ended_at if isinstance(row, Turn) else row.created_at
    ended = row.ended_at if isinstance(row, ToolCall) else None
    start = getattr(row, "started_at", None) or shown_at
    values = [("at", shown_at), *([("took", ended - start)] if ended and start else [])]
    return SafeString("".join(f' data-{name}="{_seconds(value):.3f}"' for name, value in values if value))


def _seconds(value: datetime.datetime | datetime.timedelta) -> float:
    return value.total_seconds() if isinstance(value, datetime.timedelta) else value.timestamp()


@register.simple_tag
def picture_in(read_only: ReadOnly, digest: str) -> str:
    """A picture's URL on a read-only page; "" if it is not shown."""
    return read_only.picture(digest) if digest else ""


@register.simple_tag
def file_in(read_only: ReadOnly, path: str) -> str:
    """The URL of a file of the workspace on a read-only page; "" if it is not there."""
    return read_only.files.file(path) if read_only.files else ""


@register.filter
def has_page(conversation: Conversation, path: str) -> bool:
    """Whether a file can be shown: it is in the workspace, or it is known what the agent deleted."""
    return workspace_of(conversation).has_file(path) or path in baseline_of(conversation.pk).stamps


@register.simple_tag(takes_context=True)
def message_body(context: Context, message: Message) -> SafeString:
    """The agent's Markdown as HTML; while it grows, its unfinished end is in a separate element."""
    place, read_only = _within(frames.place_of(message), context)
    if message.complete:
        html = markdown.render(message.text, place, read_only=read_only)
        return mark_safe(html)  # noqa: S308 (the renderer escapes)
    growing = markdown.Settling(message.text, place, read_only=read_only)
    blocks, tail = growing.advance()
    settled = mark_safe("".join(block.html for block in blocks))  # noqa: S308
    return settled + frames.tail_of(message, growing.settled, tail, live=message.live)


def _within(place: markdown.Place, context: Context) -> tuple[markdown.Place, bool]:
    """The place on this page, and whether the page is read-only."""
    read_only = context.get("read_only")
    return (place._replace(urls=read_only.files), True) if read_only else (place, False)


register.simple_tag(frames.thought_line)


@register.simple_tag
def thought_end(message: Message) -> SafeString:
    if message.complete:
        return SafeString()
    return frames.thought_of(message, len(message.reasoning), "", live=message.live)


@register.simple_tag
def region(state: ConversationState, name: str) -> SafeString:
    return REGIONS[name].html(state)


@register.simple_tag(name="markdown", takes_context=True)
def as_markdown(context: Context, text: str) -> SafeString:
    place, read_only = _within(markdown.CONVERSATION, context)
    return mark_safe(markdown.render(text, place, read_only=read_only))  # noqa: S308 (the renderer escapes)


register.simple_tag(diff_of_call, name="diff_of")  # {% diff_of call as change %}


@register.simple_tag
def document(file: FilePreview, file_page: str, image_page: str) -> SafeString:
    """A Markdown file as HTML; its links to other files start at its folder."""
    folder, slash, _name = file.path.rpartition("/")
    place = markdown.Place(file_page, image_page, folder + slash, file.version)
    return mark_safe(markdown.render(file.text, place))  # noqa: S308 (the renderer escapes)


@register.simple_tag(takes_context=True)
def is_folded(context: Context, call: ToolCall, part: str | Diff) -> bool:
    """Whether a part of a call is folded: `{% is_folded call call.output as folded %}`."""
    return not context.get("read_only") and folding.is_folded(call, part)


@register.filter
def folded(text: str) -> folding.Fold:
    return folding.folded(text)


@register.filter
def folded_arguments(call: ToolCall) -> list[tuple[str, folding.Fold]]:
    return folding.folded_arguments(call)


@register.simple_tag
def board_section(state: BoardState, name: str) -> SafeString:
    return BOARD_REGIONS[name].html(state)


@register.filter
def words(message: Message | FollowUp) -> str:
    return own_words(message)


@register.simple_tag(takes_context=True)
def typed(context: Context, text: str) -> SafeString:
    """A user's text, with its fenced code as code."""
    html = markdown.render_typed(text, read_only=bool(context.get("read_only")))
    return mark_safe(html)  # noqa: S308 (escaped there)


@register.filter
def is_long(text: str) -> bool:
    """Whether a user's message is folded."""
    return len(text) > LONG_MESSAGE or text.count("\n") >= LONG_MESSAGE_LINES


@register.filter
def unseen(fault: str) -> str:
    return str(Attachment.Fault(fault).label) if fault in Attachment.Fault.values else fault


@register.filter
def plainly(value: object) -> str:
    """The value as text in which hidden and bidirectional characters are visible, for approvals."""
    return "".join(
        f"<U+{ord(character):04X}>"
        if unicodedata.category(character) in HIDDEN and character not in "\n\t"
        else character
        for character in str(value)
    )


@register.filter
def approval_question(call: ToolCall) -> SafeString:
    """What the user is asked before the call may run."""
    path = call.parsed_arguments.get("path")
    if call.name == "bash":
        question = _("Allow this command?")
    elif path and call.name == "write_file":
        question = _("Allow the agent to write <code>%(path)s</code>?")
    elif path and call.name == "edit_file":
        question = _("Allow the agent to edit <code>%(path)s</code>?")
    else:
        question = _("Allow the agent to use <code>%(tool)s</code>?")
    return mark_safe(question % {"path": escape(plainly(path)), "tool": escape(call.name)})  # noqa: S308


@register.filter
def latest_line(call: ToolCall) -> str:
    if call.status != ToolCall.Status.RUNNING:
        return ""
    return next((line for line in reversed(call.output.splitlines()) if line.strip()), "")[-200:]


@register.inclusion_tag("partials/_diff.html")
def diff(change: Diff) -> dict[str, Diff]:
    return {"diff": change}


@register.inclusion_tag("partials/_diff_count.html")
def diff_count(change: Diff) -> dict[str, Diff]:
    return {"diff": change}
