"""The terminal's screen, change by change."""

from __future__ import annotations

import datetime
import io
import json
import os
import uuid
from typing import Any

import pytest

from chat.live.frames import Change, PanelChanged, RowChanged, TextGrew, TurnChanged
from chat.live.todo_panel import TodoPanel
from chat.models import Conversation, Message, Summary, ToolCall, Turn
from chat.terminal.console import Console, TerminalScreen, printable
from chat.turns.compaction import SUMMARISING
from chat.turns.recorder import SILENT

NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)


class Shown:
    """A screen on a running turn, and its output."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.turn = Turn(pk=1, conversation=Conversation(title="t"), status=Turn.Status.RUNNING)
        self.screen = TerminalScreen(self.turn, Console(self.stream, colour=False))

    async def after(self, *changes: Change) -> str:
        await self.screen.show(changes)
        return self.stream.getvalue()

    async def finished(self, status: Turn.Status, sentence: str = "") -> str:
        self.turn.status, self.turn.status_message = status, sentence
        await self.screen.show([TurnChanged()])
        await self.screen.finish()
        return self.stream.getvalue()


@pytest.fixture
def shown() -> Shown:
    return Shown()


def message(text: str) -> Message:
    return Message(pk=1, role=Message.Role.ASSISTANT, text=text)


def call(status: str, seconds: float = 0.0, **given: Any) -> ToolCall:
    ended = NOON + datetime.timedelta(seconds=seconds) if seconds else None
    fields = {"name": "bash", "arguments": '{"command": "ls -la"}', **given}
    return ToolCall(pk=1, status=status, started_at=NOON if seconds else None, ended_at=ended, **fields)


async def test_only_what_is_new_of_a_text_is_written(shown: Shown) -> None:
    one, two = message("Hello"), message("Hello there")
    assert await shown.after(RowChanged(one, new=True), TextGrew(one), TextGrew(two)) == "Hello there"
    assert await shown.after(RowChanged(two)) == "Hello there"


async def test_what_came_from_a_browser_meanwhile_is_shown_as_the_persons(shown: Shown) -> None:
    note = Message(pk=2, role=Message.Role.USER, text="one\ntwo")
    written = await shown.after(RowChanged(call("succeeded")), RowChanged(note, new=True), TurnChanged())
    assert written.endswith("\n\n> one\n> two\n")


async def test_a_call_has_state_time_and_the_first_lines_of_its_output(shown: Shown) -> None:
    output = "\n".join(f"line {number}" for number in range(9))
    assert await shown.after(RowChanged(call("pending"), new=True)) == ""
    assert await shown.after(RowChanged(call("running"))) == "bash ls -la"
    ended = await shown.after(RowChanged(call("succeeded", 1.26, output=output)))
    head, *lines = ended.splitlines()
    assert head == "bash ls -la (Done, 1.3 s)"
    assert lines == [*(f"    line {number}" for number in range(6)), "    … 3 more lines"]


async def test_output_is_written_as_it_comes(shown: Shown) -> None:
    assert await shown.after(RowChanged(call("running"))) == "bash ls -la"
    assert await shown.after(RowChanged(call("running", output="one\ntw"))) == "bash ls -la\n    one\n"
    two = await shown.after(RowChanged(call("running", output="one\ntwo\n")))
    assert two == "bash ls -la\n    one\n    two\n"
    output = "one\ntwo\n" + "more\n" * 9
    ended = await shown.after(RowChanged(call("succeeded", 1.26, output=output)))
    assert ended == two + "    more\n" * 4 + "    … 5 more lines\n    (Done, 1.3 s)\n"


async def test_a_call_that_was_refused_before_it_ran_has_no_time(shown: Shown) -> None:
    written = await shown.after(RowChanged(call("failed", output="Error: no such tool")))
    assert written == "bash ls -la (Failed)\n    Error: no such tool\n"


async def test_a_draft_is_not_shown_and_the_accepted_list_is(shown: Shown) -> None:
    items = [{"content": "Read", "status": "pending", "active_form": "Reading", "key": "", "id": "1"}]
    write = {"name": "TodoWrite", "arguments": "{}"}
    assert await shown.after(PanelChanged(TodoPanel(uuid.uuid4(), 1, "working", items))) == ""
    assert await shown.after(RowChanged(call("running", **write))) == ""
    written = await shown.after(RowChanged(call("succeeded", **write)))
    assert written == "TodoWrite {}\n[ ] Read\n\n(0/1 completed)\n"
    empty = PanelChanged(TodoPanel(uuid.uuid4(), 1, "working", []))
    written = await shown.after(empty, RowChanged(call("succeeded", **write)))
    assert written.endswith("\n\nTodoWrite {}\nNo todos.\n")


async def test_the_arguments_of_a_list_are_shown_shortly(shown: Shown) -> None:
    items = [{"content": "读文件", "status": "pending", "activeForm": "正在读文件"}] * 5
    write = {"name": "TodoWrite", "arguments": json.dumps({"items": items})}
    head, *_ = (await shown.after(RowChanged(call("succeeded", **write)))).splitlines()
    assert head == (
        'TodoWrite {"items": [{"content": "读文件", "status": "pending", "activeForm": "正在读文件"}, {"co…'
    )


async def test_a_call_without_a_text_among_its_arguments_shows_them_too(shown: Shown) -> None:
    broken = await shown.after(RowChanged(call("failed", name="TodoWrite", arguments='{"items":\n [')))
    assert broken == 'TodoWrite {"items": [ (Failed)\n'
    add = {"name": "add", "arguments": '{"a": 1,\n "b": 2}'}
    assert (await shown.after(RowChanged(call("running", **add)))).endswith('\nadd {"a": 1, "b": 2}')


async def test_a_completed_turn_ends_without_a_word(shown: Shown) -> None:
    await shown.after(RowChanged(message("Done."), new=True))
    assert await shown.finished(Turn.Status.COMPLETED) == "Done.\n"


async def test_a_turn_that_came_to_nothing_says_why(shown: Shown) -> None:
    await shown.after(RowChanged(message("I beg"), new=True))
    assert await shown.finished(Turn.Status.FAILED, "It broke.") == "I beg\n\nIt broke.\n"


async def test_a_stopped_turn_closes_the_call_that_ran(shown: Shown) -> None:
    await shown.after(RowChanged(call("running")))
    assert await shown.finished(Turn.Status.STOPPED) == "bash ls -la (Stopped)\n\nStopped.\n"


async def test_a_model_that_is_asked_again_is_told_of(shown: Shown) -> None:
    shown.turn.status_message = "It is busy."
    assert await shown.after(TurnChanged()) == "Retrying: It is busy.\n"


async def test_what_no_longer_fits_is_told_of(shown: Shown) -> None:
    shown.turn.status_message = str(SUMMARISING)
    await shown.after(TurnChanged())
    shown.turn.status_message = ""
    summary = Summary(pk=1, turn=shown.turn, number=1, text="Much was said.")
    assert await shown.after(RowChanged(summary, new=True), RowChanged(message("Done."), new=True)) == (
        f"{SUMMARISING}\nEarlier turns were summarised for the model.\n\nDone."
    )


async def test_a_model_that_has_not_answered_is_told_of(shown: Shown) -> None:
    shown.turn.status_message = str(SILENT)
    assert await shown.after(TurnChanged()) == f"{SILENT}\n"


async def test_a_turn_that_was_taken_away_says_so(shown: Shown) -> None:
    await shown.screen.close()
    assert "ended elsewhere" in shown.stream.getvalue()


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("中文 ✅ é", "中文 ✅ é"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("\x1b[31mred", "\ufffd[31mred"),
        ("\x9b31m", "\ufffd31m"),
        ("\u202etxt.exe", "\ufffdtxt.exe"),
        ("a\0b\x07", "a\ufffdb\ufffd"),
    ],
)
def test_what_would_command_a_terminal_is_replaced(given: str, shown: str) -> None:
    assert printable(given) == shown


def test_a_gap_is_one_blank_line_and_none_at_the_top(stream: io.StringIO) -> None:
    console = Console(stream, colour=False)
    console.gap()
    console.write("one")
    console.gap()
    console.gap()
    console.line("two")
    console.line("three")
    console.gap()
    console.write("four")
    assert stream.getvalue() == "one\n\ntwo\nthree\n\nfour"


def test_colours_only_where_they_are_wanted(stream: io.StringIO) -> None:
    Console(stream, colour=True).write("now", "now")
    Console(stream, colour=False).write("now", "now")
    Console(stream, colour=True).write("plain")
    assert stream.getvalue() == "\x1b[36mnow\x1b[0mnowplain"


def test_a_reader_that_has_gone_raises_nothing() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream:
        os.close(reading)
        console = Console(stream, colour=False)
        console.line("nobody reads this")
        console.line("nor this")
