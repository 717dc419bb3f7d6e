"""Exports a conversation as Markdown."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator

from django.utils import timezone
from django.utils.translation import gettext as _

from chat.export.record import Record, Reminder, Row, rows_of
from chat.live.usage_text import format_duration, usage_line, usage_of
from chat.models import Conversation, Message, Summary, ToolCall, Turn
from chat.plan.difference import Kind, Line
from chat.plan.history import Plan
from chat.plan.timeline import Revision

BOXES = {"completed": "[x]", "in_progress": "[>]", "pending": "[ ]"}


def markdown_pieces(conversation: Conversation) -> Iterator[str]:
    for block in _blocks(Record.whole(conversation)):
        yield f"{block}\n\n"


def _blocks(record: Record) -> Iterator[str]:
    yield f"# {inline(record.title)}"
    yield _time(record.conversation.created_at) + " · " + _("exported") + f" {_time(timezone.now())}"
    for plan in record.plans():
        yield from _plan(plan)
    for number, turn in enumerate(record.each_turn(), 1):
        yield from _turn(number, turn)
    if follow_ups := record.follow_ups():
        yield "## " + _("Undelivered messages")
        for each in follow_ups:
            yield f"{inline(each.get_status_display())}, {_time(each.created_at)}"
            yield quoted(each.text)


def _plan(plan: Plan) -> Iterator[str]:
    latest = plan.latest
    yield "## " + _("Plan") + f" {plan.number} ({latest.row.done}/{latest.row.total})"
    if items := latest.row.items:
        yield "\n".join(f"- {BOXES[item['status']]} {inline(item['content'])}" for item in items)
    else:
        yield _("No to-dos")
    yield "### " + _("Revisions")
    yield "\n".join(line for revision in plan.revisions for line in _revision(revision))


def _revision(revision: Revision) -> Iterator[str]:
    row = revision.row
    who = " · " + _("by the user") if row.is_by_user else ""
    yield f"{revision.number}. {_time(row.created_at)} · {row.done}/{row.total}{who}"
    for line in revision.changed:
        yield f"    - {inline(line.item['content'])}: {', '.join(_kind(kind, line) for kind in line.kinds)}"


def _kind(kind: Kind, line: Line) -> str:
    words = {
        Kind.ADDED: _("added"),
        Kind.REMOVED: _("skipped") if line.skipped else _("removed"),
        Kind.REWORDED: _("edited"),
        Kind.MOVED: _("moved"),
    }
    states = {"completed": _("done"), "in_progress": _("started"), "pending": _("reopened")}
    return words.get(kind) or states[line.item["status"]]


def _turn(number: int, turn: Turn) -> Iterator[str]:
    yield "## " + _("Turn") + f" {number}"
    for row in rows_of(turn):
        yield from _row(row)
    parts = [str(turn.get_status_display()), inline(turn.status_message)]
    usage = usage_of(turn)
    figures = usage_line(usage) if usage.totals.calls else ""
    yield "_" + " · ".join(filter(None, [*parts, _time(turn.ended_at), inline(figures)])) + "_"


def _row(row: Row) -> Iterator[str]:
    match row:
        case Message():
            yield from _message(row)
        case ToolCall():
            yield from _call(row)
        case Summary():
            yield "**" + _("Summarised for the model") + "**"
            yield quoted(row.text or row.carried)
        case Reminder(step):
            yield "**" + _("Note to the agent") + "**"
            yield quoted("\n".join(filter(None, [step.reminder, step.edit_note])))


def _message(message: Message) -> Iterator[str]:
    if not message.is_visible:
        return
    is_user = message.role == Message.Role.USER
    yield "### " + (_("User") if is_user else inline(message.turn.agent_name))
    if message.reasoning:
        yield _("Thinking") + ":"
        yield fenced(message.reasoning, "text")
    if message.text:
        yield quoted(message.text)
    for each in message.attachments.all():
        yield f"- {code(each.path)} {inline(each.media_type)}".rstrip()
    if message.cut_off:
        yield "_" + _("Cut off here") + "_"


def _call(call: ToolCall) -> Iterator[str]:
    duration = f" · {format_duration(call.seconds)}" if call.seconds is not None else ""
    yield f"**{code(call.name)}** · {inline(str(call.get_status_display()))}{duration}"
    if call.decision:
        parts = [inline(str(call.get_decision_display())), _time(call.decided_at), inline(call.reason)]
        yield " · ".join(filter(None, parts))
    yield fenced(call.arguments or "{}", "json")
    if call.output:
        yield fenced(call.output, "text")
    if changed := ", ".join(map(code, call.command_changed)):
        more = call.command_changed_more
        others = _("and %(more)s more") % {"more": more} if more else ""
        yield " ".join(filter(None, [_("Changed:"), changed, others]))


def _time(moment: datetime.datetime | None) -> str:
    return timezone.localtime(moment).strftime("%Y-%m-%d %H:%M:%S") if moment else ""


_LINE = re.compile(r"\r\n|\r|\n")  # CommonMark's line endings
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#+\-!|~&])")
_TICKS = re.compile("`+")


def quoted(text: str) -> str:
    """The text as a block quote, which also ends any fence or list that it opens."""
    return "\n".join(f"> {line}".rstrip() for line in _LINE.split(text))


def fenced(text: str, language: str = "") -> str:
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    lines = "\n".join(_LINE.split(text.rstrip("\r\n")))
    return f"{fence}{language}\n{lines}\n{fence}"


def inline(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    line = " ".join(text.split())
    longest = max((len(ticks) for ticks in _TICKS.findall(line)), default=0)
    ticks = "`" * (longest + 1)
    return f"{ticks} {line} {ticks}" if longest or not line else f"{ticks}{line}{ticks}"
