"""`<details>` with a `<summary>`, on lines of their own, as sections that fold; other HTML stays text."""

from __future__ import annotations

import re

from django.utils.translation import gettext as _
from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock

MAX_LEVEL = 12  # of sections, lists and quotes around it
_SUMMARY = r"<summary>(?P<summary>.*?)</summary>"
_OPENING = re.compile(rf"<details(?P<open> open)?>\s*(?:{_SUMMARY})?", re.IGNORECASE)
_SUMMARY_LINE = re.compile(_SUMMARY, re.IGNORECASE)
_FENCE = ("```", "~~~")


def details(parser: MarkdownIt) -> None:
    ends: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    parser.block.ruler.before("fence", "details", _details, ends)


def _details(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    opening = _OPENING.fullmatch(_line(state, first))
    if opening is None or state.is_code_block(first) or state.level >= MAX_LEVEL:
        return False
    if silent:
        return True
    end = _end(state, first, last)
    token = state.push("details_open", "details", 1)
    token.map = [first, end]
    if opening["open"]:
        token.attrSet("open", "")
    begin = _add_summary(state, opening["summary"], first, end)
    around = state.lineMax, state.parentType
    state.lineMax, state.parentType = end, "details"
    state.md.block.tokenize(state, begin, end)
    state.lineMax, state.parentType = around
    state.push("details_close", "details", -1)
    state.line = min(end + 1, last)
    return True


def _add_summary(state: StateBlock, text: str | None, first: int, end: int) -> int:
    """Add the summary, in the opening's line or the next; the first line of the content."""
    begin = first + 1
    if text is None and begin < end and (line := _SUMMARY_LINE.fullmatch(_line(state, begin))):
        text, begin = line["summary"], begin + 1
    state.push("summary_open", "summary", 1)
    inline = state.push("inline", "", 0)
    inline.content = (text or "").strip() or _("Details")
    inline.map, inline.children = [first, begin], []
    state.push("summary_close", "summary", -1)
    return begin


def _end(state: StateBlock, first: int, last: int) -> int:
    """The line of the closing tag; without one, as while the text grows, the end of what is around it."""
    depth, fence = 0, ""
    for number in range(first, last):
        line = _line(state, number)
        if line and state.sCount[number] < state.blkIndent:
            return number
        if line.startswith(fence or _FENCE):
            fence = "" if fence else line[:3]
        elif not fence:
            depth += bool(_OPENING.fullmatch(line)) - (line.lower() == "</details>")
        if depth == 0:
            return number
    return last


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]].strip()
