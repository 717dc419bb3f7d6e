"""Diffs as they are shown."""

from __future__ import annotations

import itertools
import random
import time

import pytest
from django.template import Context, Template

from chat.live.diff import MAX_CHARACTERS, MAX_LINES, Diff, diff_of, edit_script


def shown(diff: Diff) -> list[str]:
    return [f"{line.sign}{line.text}" for hunk in diff.hunks for line in hunk.lines]


def drawn(diff: Diff) -> str:
    return Template("{% load rendering %}{% diff change %}").render(Context({"change": diff}))


def test_a_changed_line_stands_between_its_neighbours() -> None:
    diff = diff_of(
        "".join(f"{n}\n" for n in range(20)), "".join(f"{n}\n" for n in range(20) if n != 10) + "20\n"
    )
    assert (diff.added, diff.removed) == (1, 1)
    assert shown(diff) == [" 7", " 8", " 9", "-10", " 11", " 12", " 13", " 17", " 18", " 19", "+20"]
    assert [hunk.skipped for hunk in diff.hunks] == [7, 3]
    assert [line.number for line in diff.hunks[1].lines] == [17, 18, 19, 20]


def test_what_differs_within_a_line_is_marked() -> None:
    (hunk,) = diff_of("speed = 1  # km/h\n", "speed = 25  # km/h\n").hunks
    assert [(line.head, line.changed, line.tail) for line in hunk.lines] == [
        ("speed = ", "1", "  # km/h"),
        ("speed = ", "25", "  # km/h"),
    ]


def test_a_new_file_and_an_emptied_one() -> None:
    assert shown(diff_of(None, "a\nb\n")) == ["+a", "+b"]
    assert shown(diff_of("a\nb\n", "")) == ["-a", "-b"]
    assert diff_of(None, "").same


def test_a_missing_line_break_is_told() -> None:
    diff = diff_of("a\nb\n", "a\nb")
    assert shown(diff) == [" a", "-b", "+b"]
    assert [line.open_end for line in diff.hunks[0].lines] == [False, False, True]
    assert "no line break at the end" in drawn(diff)


def test_what_would_hide_or_turn_text_is_shown_as_what_it_is() -> None:
    assert shown(diff_of("", "a\u202eb\x1b[2Jc\r\n")) == ["+a<U+202E>b\u241b[2Jc\u240d"]


def test_markup_is_text() -> None:
    assert "&lt;script&gt;" in drawn(diff_of("", "<script>alert(1)</script>\n"))
    assert "<script>" not in drawn(diff_of("", "<script>alert(1)</script>\n"))


@pytest.mark.parametrize("binary", [b"\xff\xfe", b"a\0b"])
def test_binary_sides_have_no_lines(binary: bytes) -> None:
    diff = diff_of(binary, "text\n")
    assert diff.binary
    assert not diff.hunks
    assert "not a text file" in drawn(diff)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("\n" * 262_144, "x\n" * 131_072),
        (
            "x\n" * 60_000 + "".join(f"{n}\n" for n in range(700)),
            "x\n" * 40_000 + "".join(f"y{n}\n" for n in range(700)),
        ),
        ("a" * 262_144, "a" * 262_143 + "b"),
        ("ab\n" * 80_000, "ba\nb\n" * 50_000),
        ("".join(f"{n}\n" for n in range(40_000)), "".join(f"{n}\n" for n in range(39_999, 0, -1))),
    ],
)
def test_neither_time_nor_size_is_without_bound(before: str, after: str) -> None:
    began = time.process_time()
    diff = diff_of(before, after)
    lines = [line for hunk in diff.hunks for line in hunk.lines]
    assert time.process_time() - began < 2  # a machine under load takes a tenth of it
    assert len(lines) <= MAX_LINES
    assert sum(len(line.text) for line in lines) <= MAX_CHARACTERS
    assert diff.added + diff.removed == diff.unshown + sum(line.kind != "same" for line in lines)


def test_every_edit_script_leads_from_the_old_to_the_new() -> None:
    chance = random.Random(4)
    for _ in range(2000):
        old, new = (["abcd"[chance.randrange(4)] for _ in range(chance.randrange(12))] for _ in "on")
        edits = edit_script(old, new)
        assert [line for edit in edits for line in edit.old] == old
        assert [line for edit in edits for line in edit.new] == new
        assert all(edit.changes or edit.old == edit.new for edit in edits)
        assert all(one.changes != next_.changes for one, next_ in itertools.pairwise(edits))
