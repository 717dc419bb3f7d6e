"""The README in both languages: the same headings, commands, names in code, tables and links."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
ENGLISH = (ROOT / "README.md").read_text(encoding="utf-8")
CHINESE = (ROOT / "README.zh-Hans.md").read_text(encoding="utf-8")

_FENCED = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HAN = re.compile("[\u4e00-\u9fff]")


def without_code(text: str) -> str:
    return _FENCED.sub("", text)


def headings(text: str) -> list[str]:
    """Every heading as its level."""
    return re.findall(r"^(#+) ", without_code(text), re.MULTILINE)


def commands(text: str) -> list[list[str]]:
    """The lines of every block of code, without their comments and explanations."""
    return [
        [re.split(r"\s{2,}", line)[0] for line in block.splitlines() if line.strip()]
        for block in _FENCED.findall(text)
    ]


def inline_code(text: str) -> set[str]:
    return set(re.findall(r"`([^`\n]+)`", without_code(text)))


def tables(text: str) -> list[int]:
    """Every row of every table as the number of its cells."""
    return [
        len(re.split(r"(?<!\\)\|", line)) for line in without_code(text).splitlines() if line.startswith("|")
    ]


def links(text: str) -> Counter[str]:
    """Where the links lead, in whichever language, apart from those to the other README."""
    found = Counter(each.replace(".zh-Hans", "") for each in re.findall(r"\]\(([^)]+)\)", text))
    return found - Counter(["README.md"])


def test_both_have_the_same_headings_commands_and_names() -> None:
    assert headings(CHINESE) == headings(ENGLISH)
    assert commands(CHINESE) == commands(ENGLISH)
    assert inline_code(CHINESE) == inline_code(ENGLISH)
    assert tables(CHINESE) == tables(ENGLISH)
    assert links(CHINESE) == links(ENGLISH)


def test_they_link_each_other() -> None:
    assert "[简体中文](README.zh-Hans.md)" in ENGLISH[:200]
    assert "[English](README.md)" in CHINESE[:200]


def test_every_section_is_in_the_language_of_its_page() -> None:
    sections = without_code(CHINESE).split("\n#")
    assert all(_HAN.search(section) for section in sections)
    english = without_code(ENGLISH).replace("[简体中文]", "").replace("简体中文", "")
    assert not _HAN.search(english)


def test_the_comparison_sees_a_command_that_is_missing() -> None:
    shorter = CHINESE.replace("make test", "make tests", 1)
    assert commands(shorter) != commands(ENGLISH)
    assert headings(CHINESE.replace("\n## ", "\n### ", 1)) != headings(ENGLISH)
    assert inline_code(CHINESE.replace("`DEBUG`", "", 1)) != inline_code(ENGLISH)
