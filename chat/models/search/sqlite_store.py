"""The words in SQLite: an FTS5 table, which is given them told apart already.

A row's key holds the shelf in its upper and the entry in its lower half, so that the conversations in which a
common word occurs are known without a look at any of its entries.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from django.db import connection

from chat.models.search.term import Term

if TYPE_CHECKING:
    from chat.models.search.store import Document

SHORT = 3  # letters with which very many words begin
_GAP = ":"  # a word of no text, so that no phrase reaches over it


class SqliteStore:
    """Of the words, a colon parts the owner from the word; the table's tokenizer leaves both as they are.

    Ahead of the first row of an open term FTS5 merges all words that begin so. Where these are many, the rows
    are read once and kept, for as long as the one search that the store serves.
    """

    def __init__(self) -> None:
        self._kept: dict[str, array[int]] = {}

    def add(self, owner: int, documents: Iterable[Document]) -> None:
        rows = [((each.shelf << 32) | each.entry, _written(owner, each)) for each in documents]
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO chat_searchindex (rowid, words) VALUES (%s, %s)", rows)

    def shelves(self, owner: int, term: Term) -> set[int]:
        if _has_many_words(term):
            return {row >> 32 for row in self._rows(_match(owner, term))}
        asked = "SELECT DISTINCT rowid >> 32 FROM chat_searchindex WHERE chat_searchindex MATCH %s"
        with connection.cursor() as cursor:
            cursor.execute(asked, [_match(owner, term)])
            return {shelf for (shelf,) in cursor.fetchall()}

    def entries(self, owner: int, term: Term, shelves: Collection[int]) -> Iterator[tuple[int, int]]:
        if _has_many_words(term):
            yield from _on(shelves, self._rows(_match(owner, term)))
            return
        among = ", ".join(str(int(shelf)) for shelf in shelves)
        asked = (
            "SELECT rowid >> 32, rowid & 4294967295 FROM chat_searchindex"  # noqa: S608 (whole numbers)
            f" WHERE chat_searchindex MATCH %s AND rowid BETWEEN %s AND %s AND (rowid >> 32) IN ({among})"
            " ORDER BY rowid"
        )
        if not shelves:
            return
        # The bounds are for FTS5, which goes straight to the first; it knows nothing of the halves of a key.
        first, last = min(shelves) << 32, (max(shelves) + 1 << 32) - 1
        with connection.cursor() as cursor:
            cursor.execute(asked, [_match(owner, term), first, last])
            yield from cursor.fetchall()

    def _rows(self, match: str) -> array[int]:
        if match not in self._kept:
            with connection.cursor() as cursor:
                asked = "SELECT rowid FROM chat_searchindex WHERE chat_searchindex MATCH %s ORDER BY rowid"
                cursor.execute(asked, [match])
                self._kept[match] = array("q", (row for (row,) in cursor))
        return self._kept[match]


def _has_many_words(term: Term) -> bool:
    return term.open and len(term.words) == 1 and len(term.words[0]) <= SHORT


def _on(shelves: Collection[int], rows: array[int]) -> Iterator[tuple[int, int]]:
    """The halves of those rows, which are in order, that are on these shelves."""
    for shelf in sorted(shelves):
        first, behind = bisect_left(rows, shelf << 32), bisect_left(rows, shelf + 1 << 32)
        yield from ((shelf, row & 0xFFFFFFFF) for row in rows[first:behind])


def _written(owner: int, document: Document) -> str:
    words = [f"{owner}:{word}" for word in document.words]
    for word in document.inner:
        words += [_GAP, f"{owner}:{word}"]
    return " ".join(words)


def _match(owner: int, term: Term) -> str:
    """The term as FTS5 takes it: a phrase in quotes, which no word holds; with a star if it is open."""
    words = " ".join(f"{owner}:{word}" for word in term.words)
    return f'"{words}"{" *" if term.open else ""}'
