"""Markdown in Chinese, Japanese and Korean: emphasis and lines without spaces around them."""

from __future__ import annotations

import unicodedata
from collections.abc import MutableMapping, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import isMdAsciiPunct, isPunctChar, isWhiteSpace
from markdown_it.parser_inline import ParserInline
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Scanned
from markdown_it.token import Token

_FIRST = "\u1100"  # before it no character is of these scripts
_HANGUL = ("\uac00", "\ud7a3")  # the syllables of Korean, which has spaces between words


class EmphasisParser(ParserInline):
    """Parses inline Markdown as CommonMark does, except that `**注意：**请看` is emphasised.

    CommonMark wants a space or punctuation behind a `**` that follows punctuation. The rules are those of the
    "CJK-friendly amendments" to CommonMark (https://github.com/tats-u/markdown-cjk-friendly).
    """

    def parse(
        self, src: str, md: MarkdownIt, env: MutableMapping[str, Any], tokens: list[Token]
    ) -> list[Token]:
        state = _State(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


class _State(StateInline):
    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:  # noqa: N802, N803 (as in the package)
        scanned = super().scanDelims(start, canSplitWord)
        end = start + scanned.length
        before = self.src[start - 1] if start else " "
        after = self.src[end] if end < self.posMax else " "
        if before < _FIRST and after < _FIRST:
            return scanned
        opens = _faces(after, before)
        closes = _faces(before, after)
        return Scanned(
            opens and (canSplitWord or not closes or _is_punctuation(before)),
            closes and (canSplitWord or not opens or _is_punctuation(after)),
            scanned.length,
        )


def soft_break(_self: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    """The end of a line within a paragraph: a space, but not between Chinese characters."""
    sides = [tokens[place].content for place in (index - 1, index + 1) if 0 <= place < len(tokens)]
    if len(sides) < 2 or not all(sides):
        return "\n"
    is_joined = all(
        _is_cjk(each) and not _HANGUL[0] <= each <= _HANGUL[1] for each in (sides[0][-1], sides[1][0])
    )
    return "" if is_joined else "\n"


def _faces(inside: str, outside: str) -> bool:
    """Whether a mark between them can belong to what is on its one side, `inside`."""
    if isWhiteSpace(ord(inside)):
        return False
    if not _is_punctuation(inside) or _is_cjk(inside):
        return True
    return isWhiteSpace(ord(outside)) or _is_punctuation(outside) or _is_cjk(outside)


def _is_punctuation(character: str) -> bool:
    return isMdAsciiPunct(ord(character)) or isPunctChar(character)


def _is_cjk(character: str) -> bool:
    """Whether it is a letter or punctuation of these scripts; emoji, which are as wide, are not."""
    wide = unicodedata.east_asian_width(character) in ("W", "F", "H")
    return wide and unicodedata.category(character) != "So"
