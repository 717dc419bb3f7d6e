"""Safe names of uploads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.files.names import MAX_BYTES, numbered, safe_name


@pytest.mark.parametrize(
    ("given", "safe"),
    [
        ("report.pdf", "report.pdf"),
        ("数据 表.csv", "数据 表.csv"),
        ("naïve.txt", "naïve.txt"),
        ("../../etc/passwd", "passwd"),
        ("/etc/shadow", "shadow"),
        ("C:\\Users\\me\\a.txt", "a.txt"),
        ("..", "file"),
        ("...", "file"),
        ("", "file"),
        ("a/", "file"),
        (".bashrc", "bashrc"),
        ("-rf", "rf"),
        ("--", "file"),
        ("~root", "root"),
        ("a\0b.txt", "ab.txt"),
        ("a\nb\t.txt", "a b .txt"),
        ("\x1b[31mred.txt", "[31mred.txt"),
        ("\u202egnp.exe", "gnp.exe"),
        ("a\u2066b\u200bc\ufeff.txt", "abc.txt"),
        ("\ud800x", "x"),
        ("CON", "_CON"),
        ("nul.txt", "_nul.txt"),
        ("com1.log", "_com1.log"),
        ("console", "console"),
        ('a:b|c?d*e<f>g"h`i', "a_b_c_d_e_f_g_h_i"),
        ("trailing. . ", "trailing"),
        ("x" * 300, "x" * (MAX_BYTES - 63) + "…" + "x" * 60),
        ("x" * 300 + ".tar", "x" * (MAX_BYTES - 67) + "…" + "x" * 60 + ".tar"),
        ("界" * 200 + "11月.txt", "界" * 44 + "…" + "界" * 18 + "11月.txt"),
        ("a." + "b" * 300, "a." + "b" * (MAX_BYTES - 65) + "…" + "b" * 60),
    ],
)
def test_a_name_is_made_safe(given: str, safe: str) -> None:
    assert safe_name(given) == safe


@given(st.text(max_size=400))
def test_every_name_is_one_part_of_a_path(given: str) -> None:
    name = safe_name(given)
    assert Path(name).name == name
    assert name not in ("", ".", "..")
    assert name[0] not in ".-~ "
    assert len(os.fsencode(name)) <= MAX_BYTES + 1
    assert name.isprintable()


def test_the_next_one_of_a_name() -> None:
    assert [numbered("a.txt", 1), numbered("a.txt", 2), numbered("a", 3)] == ["a.txt", "a-2.txt", "a-3"]
