"""Terminal output: a running turn's text, tool calls and todo list."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from typing import TextIO, cast

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.agent import TodoItem, TodoList
from chat.agent.prompts import Language
from chat.live.frames import Change, PanelChanged, RowChanged, TextGrew, TurnChanged
from chat.live.todo_panel import TodoPanel
from chat.models import Message, Summary, ToolCall, Turn
from chat.turns.compaction import SUMMARISING
from chat.turns.recorder import SILENT

OUTPUT_LINES = 6  # of a call's output
OUTPUT_WIDTH = 160  # characters per line
ARGUMENTS_WIDTH = 80  # characters of a call's arguments

COLOUR_OF_ITEM = {"[x]": "done", "[>]": "now"}


class TerminalScreen:
    def __init__(self, turn: Turn, console: Console) -> None:
        self.turn = turn
        self.console = console
        self.panel: TodoPanel | None = None
        self._message: int | None = None
        self._written = 0
        self._open_call: int | None = None
        self._lines_shown = 0

    async def show(self, changes: Iterable[Change]) -> None:
        self.turn.frame += 1  # so that open pages notice that they missed something
        for change in changes:
            self._show(change)

    async def finish(self) -> None:
        self._close_call()
        if not self.turn.is_active and self.turn.status != Turn.Status.COMPLETED:
            failed = self.turn.status == Turn.Status.FAILED
            self.console.gap()
            self.console.line(
                self.turn.status_message or f"{self.turn.get_status_display()}.",
                "fault" if failed else "quiet",
            )
        self.console.end_line()

    async def close(self) -> None:
        self._close_call()
        self.console.gap()
        self.console.line(_("This turn was ended elsewhere; the conversation says how."), "fault")

    def _show(self, change: Change) -> None:
        match change:
            case RowChanged(Message(role=Message.Role.USER) as message):
                self._user_message(message)
            case RowChanged(Message() as message) | TextGrew(message):
                self._text(message)
            case RowChanged(ToolCall() as call) if call.is_todo_write:
                self._todo_write(call)
            case RowChanged(ToolCall() as call):
                self._call(call)
            case PanelChanged(panel):
                self.panel = panel
            case RowChanged(Summary() as summary):
                self._summary(summary)
            case TurnChanged() if self.turn.is_active and self.turn.status_message:
                self.console.gap()
                text = self.turn.status_message
                is_translated = text in (str(SUMMARISING), str(SILENT))
                self.console.line(text if is_translated else _("Retrying: %s") % text, "quiet")

    def _user_message(self, message: Message) -> None:
        self.console.gap()
        for line in message.text.splitlines():
            self.console.line(f"> {line}", "strong")

    def _summary(self, summary: Summary) -> None:
        self.console.line(
            _("Earlier turns were summarised for the model.")
            if summary.text
            else _("Earlier turns are no longer sent to the model; there is no summary."),
            "quiet",
        )

    def _text(self, message: Message) -> None:
        if message.pk != self._message:
            self._message, self._written = message.pk, 0
        new_text = message.text[self._written :]
        if not message.text.strip():
            return
        if not message.text[: self._written].strip():
            self.console.gap()
            new_text = new_text.lstrip()
        self._written = len(message.text)
        self.console.write(new_text)

    def _todo_write(self, call: ToolCall) -> None:
        if call.status == ToolCall.Status.SUCCEEDED:
            self._head(call)
            self._open_call = None
            self._list(self.panel)
        elif call.status in ToolCall.FINAL:
            self._call(call)

    def _list(self, panel: TodoPanel | None) -> None:
        items = [TodoItem.from_dict(item) for item in panel.items] if panel else []
        language = cast(Language, self.turn.profile_snapshot.get("language", "en"))
        # The focused policy's rendering has the count and says when there is nothing.
        for line in TodoList("focused", items, language).render().splitlines():
            self.console.line(line, COLOUR_OF_ITEM.get(line[:3], ""))

    def _call(self, call: ToolCall) -> None:
        if call.status == ToolCall.Status.RUNNING:
            if self._open_call != call.pk:
                self._head(call)
            self._output(call.output.splitlines(keepends=True), whole=False)
        elif call.status in ToolCall.FINAL:
            if self._open_call != call.pk:
                self._head(call)
            self._outcome(call)

    def _head(self, call: ToolCall) -> None:
        self._close_call()
        self.console.gap()
        self.console.write(call.name, "strong")
        self.console.write(f" {_subject(call)}".rstrip())
        self._open_call = call.pk
        self._lines_shown = 0

    def _outcome(self, call: ToolCall) -> None:
        self._open_call = None
        succeeded = call.status == ToolCall.Status.SUCCEEDED
        lines = call.output.strip("\n").splitlines()
        if self._lines_shown:  # the line above has other things under it already
            self._output(lines)
            self.console.write("   ")
            lines = []
        words = [call.get_status_display()]
        if call.seconds is not None:
            words.append(_time(call.seconds))
        self.console.write(f" ({', '.join(words)})", "quiet" if succeeded else "fault")
        self.console.end_line()
        self._output(lines)

    def _output(self, lines: list[str], *, whole: bool = True) -> None:
        """Print the lines that are not printed yet; unless `whole`, only complete lines."""
        for line in lines[self._lines_shown : OUTPUT_LINES]:
            if not whole and not line.endswith("\n"):
                return
            line = line.rstrip("\r\n")
            cut = line if len(line) <= OUTPUT_WIDTH else f"{line[: OUTPUT_WIDTH - 1]}…"
            self.console.line(f"    {cut}".rstrip(), "quiet")
            self._lines_shown += 1
        more = len(lines) - OUTPUT_LINES if whole else 0
        if more > 0:
            self.console.line("    " + ngettext("… %d more line", "… %d more lines", more) % more, "quiet")

    def _close_call(self) -> None:
        if self._open_call is not None:
            self._open_call = None
            self.console.write(" (" + _("Stopped") + ")", "quiet")
            self.console.end_line()


def _subject(call: ToolCall) -> str:
    if call.summary_line:
        return call.summary_line
    arguments = (
        json.dumps(call.parsed_arguments, ensure_ascii=False)
        if call.parsed_arguments
        else " ".join(call.arguments.split())
    )
    return arguments if len(arguments) <= ARGUMENTS_WIDTH else f"{arguments[: ARGUMENTS_WIDTH - 1]}…"


def _time(seconds: float) -> str:
    if seconds < 1:
        return _("%(ms)s ms") % {"ms": round(seconds * 1000)}
    return _("%(seconds)s s") % {"seconds": f"{seconds:.1f}"}


# A model or tool may send escape sequences that move the cursor, change colours or enter input.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

COLOURS = {"": "", "strong": "1", "quiet": "2", "done": "32", "now": "36", "fault": "31"}


class Console:
    """Writes text, unbuffered and stripped of control characters; with `colour`, in terminal colours.

    If the reader of the stream is gone, output is dropped without an error: the turn is still recorded.
    """

    def __init__(self, stream: TextIO, *, colour: bool) -> None:
        self.stream = stream
        self.colour = colour
        self._ends = "\n\n"  # the last two characters written

    def write(self, text: str, colour: str = "") -> None:
        """Write text after the last one. `colour` is a key of COLOURS."""
        text = printable(text)
        if not text:
            return
        self._ends = (self._ends + text)[-2:]
        code = COLOURS[colour] if self.colour else ""
        try:
            self.stream.write(f"\x1b[{code}m{text}\x1b[0m" if code else text)
            self.stream.flush()
        except OSError:
            self._discard_output()

    def line(self, text: str = "", colour: str = "") -> None:
        self.end_line()
        self.write(text, colour)
        self.write("\n")

    def end_line(self) -> None:
        if not self._ends.endswith("\n"):
            self.write("\n")

    def gap(self) -> None:
        self.end_line()
        if self._ends != "\n\n":
            self.write("\n")

    def was_answered(self) -> None:
        self._ends = " \n"

    def _discard_output(self) -> None:
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, self.stream.fileno())
        os.close(devnull)


def printable(text: str) -> str:
    """The text without terminal control characters, with "\\n" line ends."""
    return _UNPRINTABLE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
