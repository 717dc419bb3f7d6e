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

    index_state: int
    entry: int
    words: Sequence[str]
    inner: Collection[str]


class Store(Protocol):
    """An index in which each owner's words are kept apart, so that one's searches never touch another's."""

    def add(self, owner: int, documents: Iterable[Document]) -> None:
        """Keep documents whose entries are new. With its entry each of them goes by itself."""

    def matching_states(self, owner: int, term: Term) -> set[int]:
        """The keys of the index states in which the term occurs."""

    def entries(self, owner: int, term: Term, states: Collection[int]) -> Iterator[tuple[int, int]]:
        """The index state and key of each entry with the term among these states, oldest first."""


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


# SQLite: an FTS5 table of words that are split already. The upper half of a row's key is its index state, the
# lower half its entry, so that the conversations with a common word are found without reading an entry.

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
        rows = [((each.index_state << 32) | each.entry, _written(owner, each)) for each in documents]
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO chat_searchindex (rowid, words) VALUES (%s, %s)", rows)

    def matching_states(self, owner: int, term: Term) -> set[int]:
        if _has_many_words(term):
            return {row >> 32 for row in self._rows(_match(owner, term))}
        asked = "SELECT DISTINCT rowid >> 32 FROM chat_searchindex WHERE chat_searchindex MATCH %s"
        with connection.cursor() as cursor:
            cursor.execute(asked, [_match(owner, term)])
            return {index_state for (index_state,) in cursor.fetchall()}

    def entries(self, owner: int, term: Term, states: Collection[int]) -> Iterator[tuple[int, int]]:
        if _has_many_words(term):
            yield from _on(states, self._rows(_match(owner, term)))
            return
        among = ", ".join(str(int(index_state)) for index_state in states)
        asked = (
            "SELECT rowid >> 32, rowid & 4294967295 FROM chat_searchindex"  # noqa: S608 (whole numbers)
            f" WHERE chat_searchindex MATCH %s AND rowid BETWEEN %s AND %s AND (rowid >> 32) IN ({among})"
            " ORDER BY rowid"
        )
        if not states:
            return
        # The bounds are for FTS5, which goes straight to the first; it knows nothing of the halves of a key.
        first, last = min(states) << 32, (max(states) + 1 << 32) - 1
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


def _on(states: Collection[int], rows: array[int]) -> Iterator[tuple[int, int]]:
    """The halves of those rows, which are in order, that belong to these states."""
    for index_state in sorted(states):
        first, behind = bisect_left(rows, index_state << 32), bisect_left(rows, index_state + 1 << 32)
        yield from ((index_state, row & 0xFFFFFFFF) for row in rows[first:behind])


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
        rows = [(each.entry, each.index_state, _document_words(owner, each)) for each in documents]
        with connection.cursor() as cursor:
            asked = "INSERT INTO chat_searchindex (entry, index_state, words) VALUES (%s, %s, %s::tsvector)"
            cursor.executemany(asked, rows)

    def matching_states(self, owner: int, term: Term) -> set[int]:
        with connection.cursor() as cursor:
            asked = "SELECT DISTINCT index_state FROM chat_searchindex WHERE words @@ %s::tsquery"
            cursor.execute(asked, [_ts_query(owner, term)])
            return {index_state for (index_state,) in cursor.fetchall()}

    def entries(self, owner: int, term: Term, states: Collection[int]) -> Iterator[tuple[int, int]]:
        asked = (
            "SELECT index_state, entry FROM chat_searchindex"
            " WHERE words @@ %s::tsquery AND index_state = ANY(%s) ORDER BY entry"
        )
        with connection.cursor() as cursor:
            cursor.execute(asked, [_ts_query(owner, term), list(states)])
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
