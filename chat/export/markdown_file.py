"""Exports a conversation as Markdown."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext
from markdown_it import MarkdownIt

from chat.export.record import Record, Reminder, Row, rows_of
from chat.live.diff import Diff, diff_of_call
from chat.live.frames import thought_line
from chat.live.usage_text import format_duration, usage_line, usage_of
from chat.models import Conversation, Message, Summary, TodoRevision, ToolCall, Turn
from chat.models.follow_up import own_words
from chat.models.tool_call import READER
from chat.plan.difference import Line, change_text
from chat.plan.history import Plan
from chat.plan.timeline import Revision

BOXES = {"completed": "[x]", "in_progress": "[ ]", "pending": "[ ]"}
MAX_LINES = (16, 6)  # shown of the beginning and of the end of an output
MAX_LINE_LENGTH = 500  # characters


def markdown_pieces(conversation: Conversation) -> Iterator[str]:
    """The file's text, for people: tool calls in short. The JSON file has everything."""
    for block in _blocks(Record.whole(conversation)):
        yield f"{block}\n\n"


def _blocks(record: Record) -> Iterator[str]:
    plans = record.plans()
    yield f"# {inline(record.title)}"
    exported = _("exported %(time)s") % {"time": _zoned(timezone.now())}
    yield f"{_zoned(record.conversation.created_at)} · {exported}"
    if plans:
        yield "**" + _("Plan") + f"** · {_progress(plans[-1])}"
        yield from _items(plans[-1])
    for number, turn in enumerate(record.each_turn(), 1):
        yield from _turn(number, turn)
    if follow_ups := record.follow_ups():
        yield "## " + _("Undelivered messages")
        for each in follow_ups:
            yield f"{inline(each.get_status_display())}, {_time(each.created_at)}"
            yield quoted(each.text)
    if plans:
        yield "## " + _("Plan history")
        for plan in plans:
            yield from _history(plan, is_last=plan is plans[-1])


def _progress(plan: Plan) -> str:
    row = plan.latest.row
    progress = _("%(done)s of %(total)s done") % {"done": row.done, "total": row.total}
    return progress + _dismissed(row)


def _dismissed(row: TodoRevision) -> str:
    return " · " + _("Dismissed") if row.dismissed else ""


def _items(plan: Plan) -> Iterator[str]:
    lines = [line for line in plan.latest.lines if not line.is_removed or line.skipped]
    if lines:
        yield "\n".join(_item(line, cut_off=plan.latest.cut_off) for line in lines)


def _item(line: Line, *, cut_off: bool) -> str:
    item = line.item
    if line.is_removed:
        return f"- ~~{inline(item['content'])}~~ _(" + _("skipped") + ")_"
    is_begun = item["status"] == "in_progress"
    begun = " _(" + (_("interrupted") if cut_off else _("in progress")) + ")_" if is_begun else ""
    return f"- {BOXES[item['status']]} {inline(item['content'])}{begun}"


def _history(plan: Plan, *, is_last: bool) -> Iterator[str]:
    yield "### " + _("Plan") + f" {plan.number}" + _(": ") + _progress(plan)
    if not is_last:  # the last one's are at the top
        yield from _items(plan)
    yield "\n".join(line for revision in plan.revisions for line in _revision(revision))


def _revision(revision: Revision) -> Iterator[str]:
    row = revision.row
    by_user = _("The user's changes were kept") if row.kept else _("by the user")
    who = f" · {by_user}" if row.is_by_user else ""
    unchanged = "" if revision.changed else " · " + _("Saved again without changes")
    counts = f"{row.done}/{row.total}{_dismissed(row)}"
    yield f"{revision.number}. {_time(row.created_at)} · {counts}{who}{unchanged}"
    for line in revision.changed:
        kinds = pgettext("list", ", ").join(change_text(line, kind) for kind in line.kinds)
        yield f"    - {inline(line.item['content'])}" + _(": ") + kinds


def _turn(number: int, turn: Turn) -> Iterator[str]:
    yield "## " + _("Turn") + f" {number}"
    speaker = ""
    for row in rows_of(turn):
        if (name := _speaker(row)) and name != speaker:
            yield f"### {name}"
            speaker = name
        yield from _row(row)
    parts = [str(turn.get_status_display()), inline(turn.status_message)]
    usage = usage_of(turn)
    figures = usage_line(usage) if usage.totals.calls else ""
    yield "_" + " · ".join(filter(None, [*parts, _time(turn.ended_at), inline(figures)])) + "_"


def _speaker(row: Row) -> str:
    """Whose heading the row stands under; "" for none."""
    match row:
        case Message(role=Message.Role.USER):
            return _("User")
        case ToolCall() | Message(is_visible=True):
            return inline(row.turn.agent_name)
    return ""


def _row(row: Row) -> Iterator[str]:
    match row:
        case Message():
            yield from _message(row)
        case ToolCall(is_todo_write=True):
            yield _todo_write(row)
        case ToolCall():
            yield from _call(row)
        case Summary():
            yield "**" + _("Summarised for the model") + "**"
            yield quoted(row.text or row.carried)
        case Reminder(step):
            yield "**" + _("Note to the agent") + "**"
            yield quoted("\n".join(filter(None, [step.reminder, step.edit_note])))


def _message(message: Message) -> Iterator[str]:
    if message.reasoning:
        yield f"_{thought_line(message)}_"
    if message.role == Message.Role.ASSISTANT:
        yield from [prose(message.text)] if message.text else []
    elif words := own_words(message):
        yield quoted(words)
    if attachments := message.attachments.all():
        yield "\n".join(f"- {code(each.path)} {inline(each.media_type)}".rstrip() for each in attachments)
    if message.cut_off:
        yield "_" + _("Cut off here") + "_"


def _todo_write(call: ToolCall) -> str:
    if call.status == ToolCall.Status.SUCCEEDED:
        revision = call.revision
        return "_" + _("To-dos updated") + f" · {revision.done}/{revision.total}_"
    if call.status == ToolCall.Status.FAILED:
        return "_" + _("To-do update rejected") + f"_ · {inline(shortened(call.output))}"
    return "_" + _("To-do update not finished") + "_"


def _call(call: ToolCall) -> Iterator[str]:
    succeeded = call.status == ToolCall.Status.SUCCEEDED
    subject = f"**{code(call.name)}**" + (f" {code(call.summary_line)}" if call.summary_line else "")
    state = "" if succeeded else inline(str(call.get_status_display()))
    duration = format_duration(call.seconds) if call.seconds and call.seconds >= 1 else ""
    yield " · ".join(filter(None, [subject, state, duration]))
    if call.decision:
        parts = [inline(str(call.get_decision_display())), _time(call.decided_at), inline(call.reason)]
        yield " · ".join(filter(None, parts))
    change = diff_of_call(call)
    if change and change.hunks:
        yield fenced(shortened(_changed_lines(change)), "diff")
    elif call.output and not (succeeded and call.name == READER):
        yield fenced(shortened(call.output), "text")
    if changed := pgettext("list", ", ").join(map(code, call.command_changed)):
        more = call.command_changed_more
        others = " " + _("and %(more)s more") % {"more": more} if more else ""
        yield _("Changed: %(files)s") % {"files": changed + others}


def _changed_lines(change: Diff) -> str:
    hunks = ("\n".join(f"{line.sign}{line.text}" for line in hunk.lines) for hunk in change.hunks)
    return "\n…\n".join(hunks)


def shortened(text: str) -> str:
    """The beginning and the end of a text, with the number of lines between them."""
    lines = _LINE.split(text.rstrip("\r\n"))
    first, last = MAX_LINES
    left_out = len(lines) - first - last
    if left_out > 1:
        note = ngettext("… %(count)s more line …", "… %(count)s more lines …", left_out)
        lines = [*lines[:first], note % {"count": left_out}, *lines[-last:]]
    return "\n".join(f"{line[:MAX_LINE_LENGTH]}…" if len(line) > MAX_LINE_LENGTH else line for line in lines)


def _time(moment: datetime.datetime | None) -> str:
    return timezone.localtime(moment).strftime("%Y-%m-%d %H:%M") if moment else ""


def _zoned(moment: datetime.datetime) -> str:
    return f"{_time(moment)} {timezone.localtime(moment):%Z}"


_LINE = re.compile(r"\r\n|\r|\n")  # CommonMark's line endings
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~]|&(?=[#\w]))")
_MARKER = re.compile(r"^(\d*)([-+#=.)])")  # of a list, a heading or its underline, at the start of a line
_TICKS = re.compile("`+")


def quoted(text: str) -> str:
    """The text as a block quote, which also ends any fence or list that it opens."""
    return "\n".join(f"> {line}".rstrip() for line in _LINE.split(text))


_PARSER = MarkdownIt("commonmark").enable("table")
_END = "end of the text"
_LEVEL = 3  # of the headings that stand above a reply


def prose(text: str) -> str:
    """The reply with its headings beneath the file's; quoted if it would reach into what follows."""
    lines = _LINE.split(text.strip("\r\n"))
    tokens = _PARSER.parse("\n".join([*lines, "", _END]))
    last = tokens[-3:]
    ends = [token.level for token in last] == [0, 1, 0] and last[1].map == [len(lines) + 1, len(lines) + 2]
    if not ends or any(token.type == "html_block" for token in tokens):
        return quoted(text)
    for token in tokens:
        if token.type == "heading_open" and token.map:
            if token.level or not token.markup.startswith("#"):
                return quoted(text)
            words = lines[token.map[0]].strip().lstrip("#")
            lines[token.map[0]] = "#" * min(6, len(token.markup) + _LEVEL) + words
    return "\n".join(lines)


def fenced(text: str, language: str = "") -> str:
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    lines = "\n".join(_LINE.split(text.rstrip("\r\n")))
    return f"{fence}{language}\n{lines}\n{fence}"


def inline(text: str) -> str:
    """The text as part of a line, or as its beginning."""
    return _MARKER.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", " ".join(text.split())))


def code(text: str) -> str:
    line = " ".join(text.split())
    longest = max((len(ticks) for ticks in _TICKS.findall(line)), default=0)
    ticks = "`" * (longest + 1)
    return f"{ticks} {line} {ticks}" if longest or not line else f"{ticks}{line}{ticks}"
