"""Console: lines, gaps, colours, and nothing that commands a terminal."""

from __future__ import annotations

import io
import os

import pytest

from chat.terminal.console import Console, printable


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
    paper = Console(stream, colour=False)
    paper.gap()
    paper.write("one")
    paper.gap()
    paper.gap()
    paper.line("two")
    paper.line("three")
    paper.gap()
    paper.write("four")
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
        paper = Console(stream, colour=False)
        paper.line("nobody reads this")
        paper.line("nor this")
