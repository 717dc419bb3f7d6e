"""Titles extracted from model replies."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chat.agent.title import MAX_TITLE, as_title


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("Sorting notes", "Sorting notes"),
        ('"Sorting notes."', "Sorting notes"),
        ("# Sorting `my_notes.txt`\n\nThat is the title.", "Sorting my_notes.txt"),
        ("**Title:** Sorting notes", "Sorting notes"),
        ("\n\n  Sorting \t notes \n", "Sorting notes"),
        ("标题：《整理笔记》。", "整理笔记"),
        ("整理这些笔记：", "整理这些笔记"),
        ("“Sorting ‘notes’”", "Sorting ‘notes"),
        ("a\u202eb\u200bc\x00", "abc"),
        ("---\n_", ""),
        ("", ""),
    ],
)
def test_markup_quotes_and_labels_go(said: str, title: str) -> None:
    assert as_title(said) == title


def test_a_long_one_is_cut() -> None:
    assert as_title("word " * 50) == "word " * 15 + "word…"


@given(st.text())
@example("« 0")
def test_it_is_one_short_plain_line(said: str) -> None:
    title = as_title(said)
    assert len(title) <= MAX_TITLE
    assert title == " ".join(title.split())
    assert not set(title) & set("*`\n\x00")
