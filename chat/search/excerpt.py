"""Excerpts: the lines of a text in which something was found, with what was found marked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from chat.models.search.term import Term
from chat.models.search.words import READ, Word, folded, words_of

LENGTH = 200  # characters that are shown
AHEAD = 60  # of them ahead of what was found
MOST = 100  # hits among which the best is looked for
_BLANKS = re.compile(r"\s+")
Span = tuple[int, int]


@dataclass(frozen=True)
class Piece:
    """A bit of the excerpt; a `hit` is what was searched for."""

    text: str
    hit: bool = False


def excerpt(text: str, terms: Iterable[Term]) -> list[Piece]:
    """The stretch of a prepared text in which most was found, or its beginning; blanks are one space each."""
    spans = hits(text, terms)
    start = _start(text, spans)
    end = min(len(text), start + LENGTH)
    pieces = [Piece(_BLANKS.sub(" ", each.text), each.hit) for each in _pieces(text, start, end, spans)]
    ahead = [Piece("…")] if start else []
    behind = [Piece("…")] if end < len(text) else []
    return [*ahead, *pieces, *behind]


def _start(text: str, spans: Sequence[Span]) -> int:
    """A little ahead of the hit that has most hits behind it, at a word's beginning where there is one."""

    def company(span: Span) -> int:
        return sum(span[0] <= other[0] < span[0] + LENGTH - AHEAD for other in spans)

    if not spans:
        return 0
    best = max(spans[:MOST], key=company)[0]
    start = max(0, best - AHEAD)
    blank = _BLANKS.search(text, start, best) if start else None
    return blank.end() if blank and blank.end() - start <= AHEAD // 2 else start


def _pieces(text: str, start: int, end: int, spans: Iterable[Span]) -> Iterator[Piece]:
    at = start
    for first, last in spans:
        if first >= end or last <= start:
            continue
        if at < first:
            yield Piece(text[at:first])
        at = min(last, end)
        yield Piece(text[max(first, start) : at], hit=True)
    if at < end:
        yield Piece(text[at:end])


def hits(text: str, terms: Iterable[Term]) -> list[Span]:
    """Where the terms stand in the text, in order, none over another."""
    words = list(words_of(text))
    plain = [word for word in words if not word.inner]
    inner = [word for word in words if word.inner]
    found = [span for term in terms for span in _spans(text, term, plain, inner)]
    return _merged(sorted(found))


def _spans(text: str, term: Term, plain: Sequence[Word], inner: Sequence[Word]) -> Iterator[Span]:
    *before, _last = term.words
    for last in _met(term, plain):
        first = last - len(before)
        if first >= 0 and all(plain[first + number].text == word for number, word in enumerate(before)):
            yield plain[first].start, _end(text, term, plain[last])
    if not before:
        yield from ((inner[at].start, _end(text, term, inner[at])) for at in _met(term, inner))


def _met(term: Term, words: Sequence[Word]) -> list[int]:
    """Which of the words may be the term's last."""
    wanted = term.words[-1]
    if term.open:
        return [at for at, word in enumerate(words) if word.text.startswith(wanted)]
    return [at for at, word in enumerate(words) if word.text == wanted]


def _end(text: str, term: Term, word: Word) -> int:
    """Where what was searched for ends in a word that may go on."""
    wanted = len(term.words[-1])
    for end in range(word.start + 1, min(word.end, word.start + READ)):
        if len(folded(text[word.start : end])) >= wanted:
            return end
    return word.end


def _merged(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
