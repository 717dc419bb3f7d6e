"""Texts of others within a markdown file, so that nothing in them can break out of their place."""

from __future__ import annotations

import re

_LINE = re.compile(r"\r\n|\r|\n")  # what ends a line in CommonMark
_MARKS = re.compile(r"([\\`*_{}\[\]<>#+\-!|~&])")
_TICKS = re.compile("`+")


def quoted(text: str) -> str:
    """The text as a block quote: whatever it opens, a fence or a list, ends with the quote."""
    return "\n".join(f"> {line}".rstrip() for line in _LINE.split(text))


def fenced(text: str, language: str = "") -> str:
    """The text as code, in a fence that is longer than any in it."""
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    lines = "\n".join(_LINE.split(text.rstrip("\r\n")))
    return f"{fence}{language}\n{lines}\n{fence}"


def inline(text: str) -> str:
    """The text in one line, each mark of it as the character that it is."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    """The text in one line as code."""
    line = " ".join(text.split())
    longest = max((len(ticks) for ticks in _TICKS.findall(line)), default=0)
    ticks = "`" * (longest + 1)
    return f"{ticks} {line} {ticks}" if longest or not line else f"{ticks}{line}{ticks}"
