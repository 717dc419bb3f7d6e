"""Where the words are kept: in the full-text index of the database that is in use."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from django.db import connection


@dataclass(frozen=True)
class Document:
    """The words of an entry in order, and the inner ones, whose order says nothing."""

    shelf: int
    entry: int
    words: Sequence[str]
    inner: Collection[str]


class Store(Protocol):
    """An index in which each owner's words are kept apart, so that one's searches never touch another's."""

    def add(self, owner: int, documents: Iterable[Document]) -> None:
        """Keep documents whose entries are new. With its entry each of them goes by itself."""

    def shelves(self, owner: int, term: Term) -> set[int]:
        """The keys of the shelves on which the term occurs."""

    def entries(self, owner: int, term: Term, shelves: Collection[int]) -> Iterator[tuple[int, int]]:
        """The shelf and key of each entry with the term on these shelves, oldest first."""


def store() -> Store:
    """The one of the database in use."""
    return PostgresStore() if connection.vendor == "postgresql" else SqliteStore()


@dataclass(frozen=True)
class Term:
    """Words that follow each other in a text.

    An `open` one may go on at its end, as read does in reader; an `exact` one must not, even where nothing
    else is found.
    """

    words: tuple[str, ...]
    open: bool = False
    exact: bool = False


# The words in SQLite: an FTS5 table, which is given them told apart already.
#
# A row's key holds the shelf in its upper and the entry in its lower half, so that the conversations in which
# a common word occurs are known without a look at any of its entries.

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


class PostgresStore:
    """A lexeme is the owner, a colon and the word; an inner one has no position, so no phrase has it."""

    def add(self, owner: int, documents: Iterable[Document]) -> None:
        rows = [(each.entry, each.shelf, _document_words(owner, each)) for each in documents]
        with connection.cursor() as cursor:
            asked = "INSERT INTO chat_searchindex (entry, shelf, words) VALUES (%s, %s, %s::tsvector)"
            cursor.executemany(asked, rows)

    def shelves(self, owner: int, term: Term) -> set[int]:
        with connection.cursor() as cursor:
            asked = "SELECT DISTINCT shelf FROM chat_searchindex WHERE words @@ %s::tsquery"
            cursor.execute(asked, [_ts_query(owner, term)])
            return {shelf for (shelf,) in cursor.fetchall()}

    def entries(self, owner: int, term: Term, shelves: Collection[int]) -> Iterator[tuple[int, int]]:
        asked = (
            "SELECT shelf, entry FROM chat_searchindex"
            " WHERE words @@ %s::tsquery AND shelf = ANY(%s) ORDER BY entry"
        )
        with connection.cursor() as cursor:
            cursor.execute(asked, [_ts_query(owner, term), list(shelves)])
            yield from cursor.fetchall()


def _document_words(owner: int, document: Document) -> str:
    places = defaultdict[str, list[str]](list)
    for place, word in enumerate(document.words, 1):
        places[word].append(str(place))
    for word in document.inner:
        places.setdefault(word, [])
    return " ".join(_lexeme(owner, word) + (f":{','.join(at)}" if at else "") for word, at in places.items())


def _ts_query(owner: int, term: Term) -> str:
    """The term as `tsquery` reads it: words that follow each other, the last one open if it has a star."""
    phrase = " <-> ".join(_lexeme(owner, word) for word in term.words)
    return f"{phrase}:*" if term.open else phrase


def _lexeme(owner: int, word: str) -> str:
    quoted = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{owner}:{quoted}'"
