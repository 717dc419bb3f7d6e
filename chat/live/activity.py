"""What a running turn does now, as the line at its end shows it."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterable
from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from chat.agent.meter import text_tokens
from chat.live.usage_text import tokens_so_far
from chat.models import Message, Step, ToolCall, Turn
from chat.models.usage import Totals

ESTIMATE_EVERY = 2.0  # seconds between counts of the tokens that are being written


class Activity(NamedTuple):
    """`call_since` is when the running call started; `since` is the turn's start plus the time it waited."""

    words: str
    subject: str = ""
    call_since: datetime.datetime | None = None
    since: datetime.datetime | None = None
    tokens: str = ""


class ActivityLog:
    """Follows a running turn: its open rows, its steps, and an estimate of what is being written."""

    def __init__(self) -> None:
        self.since: datetime.datetime | None = None
        self._open: dict[str, Message | ToolCall] = {}
        self._steps: dict[int, Step] = {}
        self._counted = 0  # characters of the open message that are in the estimate
        self._estimate = 0  # of its tokens
        self._estimated_at = 0.0

    def read(self, turn: Turn) -> Activity:
        """Take the steps from a turn read with its rows; returns what those rows show."""
        self._steps = {step.pk: step for step in turn.steps.all()} | self._steps
        activity = activity_of(turn)
        self.since = activity.since
        return activity

    def note(self, row: Message | ToolCall) -> None:
        if not _is_open(row):
            self._open.pop(row.dom_id, None)
        elif row.dom_id not in self._open:
            self._open[row.dom_id] = row
            self._counted = self._estimate = 0

    def note_step(self, step: Step) -> None:
        self._steps[step.pk] = step

    def now(self) -> Activity:
        spent = Totals.of(self._steps.values())
        written = next((row for row in self._open.values() if isinstance(row, Message)), None)
        if written and written.step_id not in self._steps:
            spent += Totals(output_tokens=self._estimated(written), estimated=True)
        return _activity(self._open.values(), self.since, spent)

    def _estimated(self, message: Message) -> int:
        if time.monotonic() - self._estimated_at >= ESTIMATE_EVERY:
            self._estimated_at = time.monotonic()
            text = message.reasoning + message.text
            self._estimate += text_tokens(text[self._counted :])
            self._counted = len(text)
        return self._estimate


def activity_of(turn: Turn) -> Activity:
    """The activity of a turn read with its rows."""
    rows: list[Message | ToolCall] = [*turn.messages.all(), *turn.tool_calls.all()]
    since = began(turn, turn.tool_calls.all())
    return _activity(filter(_is_open, rows), since, Totals.of(turn.steps.all()))


def _activity(rows: Iterable[Message | ToolCall], since: datetime.datetime | None, spent: Totals) -> Activity:
    row = max(rows, key=_precedence, default=None)
    began = row.started_at if isinstance(row, ToolCall) else None
    return Activity(*_words(row), began, since, tokens_so_far(spent))


def _is_open(row: Message | ToolCall) -> bool:
    return not row.complete if isinstance(row, Message) else row.status not in ToolCall.FINAL


def began(turn: Turn, calls: Iterable[ToolCall]) -> datetime.datetime | None:
    """The turn's start, plus the time that its `calls` waited for the user; None before it."""
    waited = sum(call.waited for call in calls if call.decided_at)
    return turn.started_at and turn.started_at + datetime.timedelta(seconds=waited)


def _precedence(row: Message | ToolCall) -> int:
    return 0 if isinstance(row, Message) else 2 if row.status == ToolCall.Status.RUNNING else 1


def _words(row: Message | ToolCall | None) -> tuple[str, str]:
    if row is None:
        return _("Working"), ""
    if isinstance(row, Message):
        return (pgettext("activity", "Writing") if row.text else pgettext("activity", "Thinking")), ""
    words = {
        "TodoWrite": pgettext("activity", "Updating the plan"),
        "bash": pgettext("activity", "Running"),
        "read_file": pgettext("activity", "Reading"),
        "write_file": pgettext("activity on a file", "Writing"),
        "edit_file": pgettext("activity", "Editing"),
    }
    if row.is_todo_write:
        return words[row.name], ""
    if row.name in words:
        return words[row.name], row.summary_line
    return pgettext("activity", "Calling"), f"{row.name} {row.summary_line}".strip()
