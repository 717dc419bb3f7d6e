"""Call groups: tool calls with no text in between, whose finished ones fold to one line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeGuard

from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from chat.models import Message, Summary, ToolCall
from chat.models.tool_call import READER, SHELL, WRITERS

Row = Message | Summary | ToolCall


class CallGroup:
    """Consecutive calls of a turn, also of several steps, and the reasoning before them."""

    def __init__(self, first: Message | ToolCall, text: Message | None = None) -> None:
        """`text` is the latest one before it; there may be another group before that, of the same step."""
        self.turn_id = first.turn_id
        self.step = first.sort_key[0]  # the first one
        self.after_text = text is not None and text.sort_key[0] == self.step
        self._rows: dict[str, Message | ToolCall] = {}
        self.put(first)

    @property
    def dom_id(self) -> str:
        return f"turn-{self.turn_id}-calls-{self.step}{'-after-text' if self.after_text else ''}"

    @property
    def rows(self) -> list[Message | ToolCall]:
        return list(self._rows.values())

    def put(self, row: Message | ToolCall) -> None:
        """Add the row, or replace an earlier object of it."""
        self._rows[row.dom_id] = row

    def __contains__(self, row: Row) -> bool:
        return row.dom_id in self._rows

    def is_open_to(self, row: Row) -> TypeGuard[Message | ToolCall]:
        """Whether the row joins it: no call does once its latest row has turned into an answer."""
        return belongs_to_group(row) and belongs_to_group(self.rows[-1])

    @property
    def line(self) -> str:
        """What its finished calls did; "" if that would not be shorter than the rows themselves."""
        done = [row for row in self.rows if isinstance(row, ToolCall) and _folds(row)]
        thoughts = [row for row in self.rows if isinstance(row, Message) and row.complete and row.reasoning]
        return capfirst(_summary(done)) if done and len(done) + len(thoughts) > 1 else ""


def belongs_to_group(row: Row) -> TypeGuard[Message | ToolCall]:
    """Whether the row is a call, or a message of the agent without text."""
    if isinstance(row, Message):
        return row.role == Message.Role.ASSISTANT and not row.text and not row.cut_off
    return isinstance(row, ToolCall)


def grouped(rows: Iterable[Row]) -> list[Row | CallGroup]:
    """The rows of a turn, in order, with its calls in groups."""
    parts: list[Row | CallGroup] = []
    for row in rows:
        latest = parts[-1] if parts else None
        if not belongs_to_group(row):
            parts.append(row)
        elif isinstance(latest, CallGroup):
            latest.put(row)
        else:
            parts.append(CallGroup(row, latest_text(parts)))
    return parts


def latest_text(parts: Iterable[Row | CallGroup]) -> Message | None:
    return next((part for part in reversed(list(parts)) if isinstance(part, Message)), None)


def _folds(call: ToolCall) -> bool:
    """Whether the line tells of it. A list that was written is in the panel, one that was rejected is not."""
    return call.status == (ToolCall.Status.FAILED if call.is_todo_write else ToolCall.Status.SUCCEEDED)


def _summary(calls: list[ToolCall]) -> str:
    read = [call for call in calls if call.name == READER]
    reads = len({call.summary_line for call in read if not call.listed_folder})
    lists = len({call.summary_line for call in read if call.listed_folder})
    changes = len({call.summary_line for call in calls if call.name in WRITERS})
    commands = sum(call.name == SHELL for call in calls)
    rejected = sum(call.is_todo_write for call in calls)
    others = sum(call.name not in (READER, SHELL, *WRITERS) for call in calls) - rejected
    parts = []
    if reads:
        parts.append(ngettext("read %(number)s file", "read %(number)s files", reads) % {"number": reads})
    if changes and reads:
        parts.append(pgettext("files", "changed %(number)s") % {"number": changes})
    elif changes:
        text = ngettext("changed %(number)s file", "changed %(number)s files", changes)
        parts.append(text % {"number": changes})
    if lists:
        text = ngettext("listed %(number)s folder", "listed %(number)s folders", lists)
        parts.append(text % {"number": lists})
    if commands:
        text = ngettext("ran %(number)s command", "ran %(number)s commands", commands)
        parts.append(text % {"number": commands})
    if others:
        text = ngettext("used %(number)s other tool", "used other tools %(number)s times", others)
        parts.append(text % {"number": others})
    if rejected:
        text = ngettext("%(number)s to-do update rejected", "%(number)s to-do updates rejected", rejected)
        parts.append(text % {"number": rejected})
    return _(", ").join(parts)
