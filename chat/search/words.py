"""Splits text into words, in the same way for indexing, queries and excerpts.

Scripts without spaces are split into pairs of characters, so that any part of a sentence is found; everything
else into runs of letters and digits.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

MAX_LENGTH = 64  # characters of a word; the rest is ignored
MAX_RAW_LENGTH = 2 * MAX_LENGTH  # before folding, which removes accents

# Thai and Lao, Myanmar, Hangul, Khmer, radicals and kana, Chinese, half-width kana.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035"
    "\u3040-\u309a\u309d-\u30fa\u30fc-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U00020000-\U0003ffff"
)
_SIGNS = "\u2600-\u27bf\U0001f000-\U0001faff"
_MARKS = "\u0300-\u036f"
_RUN = re.compile(
    rf"(?P<unspaced>[{_UNSPACED}]+)|(?P<sign>[{_SIGNS}])|(?P<word>(?:(?![{_UNSPACED}{_SIGNS}])[^\W_]|[{_MARKS}])+)"
)
# Where an inner word begins: readFile, HTTPServer, utf8.
_INNER = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_HALF_WIDTH_KANA = re.compile("[\uff66-\uff9f]+")
_NOT_IN_WORDS = re.compile(r"[\x00-/:-@\[-`{-\x7f]")


class Word(NamedTuple):
    """A folded word, and its position in the text: from `start` up to `end`.

    An `inner` word begins within another; a `lone` one is the last character of an unspaced run.
    """

    text: str
    start: int
    end: int
    inner: bool = False
    lone: bool = False


class _Folding(dict[int, str]):
    """Maps a character to its comparable form: without width, case, and accents of European letters."""

    def __missing__(self, code: int) -> str:
        plain = unicodedata.normalize("NFKC", chr(code)).casefold()
        bare = re.sub(f"[{_MARKS}]", "", unicodedata.normalize("NFD", plain))
        folded = self[code] = unicodedata.normalize("NFKC", bare)
        return folded


_FOLDING = _Folding()


def prepared(text: str) -> str:
    """The text normalized for indexing, search and excerpts."""
    text = unicodedata.normalize("NFC", text)
    return _HALF_WIDTH_KANA.sub(lambda run: unicodedata.normalize("NFKC", run[0]), text)


def folded(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_FOLDING)


def words_of(text: str) -> Iterator[Word]:
    """The words of a prepared text in order, inner words after the word that contains them.

    A run of an unspaced script yields its pairs of neighbours, and its last character alone.
    """
    for run in _RUN.finditer(text):
        start, end = run.span()
        if run.lastgroup == "unspaced":
            yield from _pairs(text, start, end)
        elif word := _bare(text[start:end]):
            yield Word(word, start, end)
            rest = text[start + 1 : end]
            if rest and not (rest.isalpha() and rest.islower()):
                yield from _inner_words(text, start, end)


def _pairs(text: str, start: int, end: int) -> Iterator[Word]:
    letters = [_FOLDING[ord(letter)] for letter in text[start:end]]
    for number, (one, other) in enumerate(pairwise(letters), start):
        yield Word(one + other, number, number + 2)
    yield Word(letters[-1], end - 1, end, lone=True)


def _inner_words(text: str, start: int, end: int) -> Iterator[Word]:
    """Each inner word extends to the end of the word, so that a longer match is found too."""
    for inner in _INNER.finditer(text, start, end):
        if inner.start() > start and (
            word := _bare(text[inner.start() : min(end, inner.start() + MAX_RAW_LENGTH)])
        ):
            yield Word(word, inner.start(), end, inner=True)


def _bare(text: str) -> str:
    """The folded word without characters that could split it again."""
    return _NOT_IN_WORDS.sub("", folded(text))[:MAX_LENGTH]
