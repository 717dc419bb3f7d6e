"""The full-text index of the words, in the database that is in use."""

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
    index_state: int
    entry: int
    words: Sequence[str]
    inner: Collection[str]


class Store(Protocol):
    """An index that keeps each owner's words apart, so that searches never touch another's."""

    def add(self, owner: int, documents: Iterable[Document]) -> None:
        """Add documents of new entries. Each is deleted with its entry."""

    def matching_states(self, owner: int, term: Term) -> set[int]:
        """The keys of the index states that contain the term."""

    def entries(self, owner: int, term: Term, states: Collection[int]) -> Iterator[tuple[int, int]]:
        """Index state and key of the matching entries in these states, oldest first."""


def store() -> Store:
    return PostgresStore() if connection.vendor == "postgresql" else SqliteStore()


@dataclass(frozen=True)
class Term:
    """Consecutive words.

    The last word of an `open` term is a prefix, as read is of reader; an `exact` one never is.
    """

    words: tuple[str, ...]
    open: bool = False
    exact: bool = False


# SQLite: an FTS5 table of words that are already split. The upper half of a rowid is the index state, the
# lower half the entry, so that conversations with a common word are found without reading entries.

SHORT = 3  # letters of a prefix that very many words share
_GAP = ":"  # a word that occurs in no text, so that no phrase spans it


class SqliteStore:
    """Each word is prefixed with the owner and a colon; the table's tokenizer keeps both.

    For an open term FTS5 merges all words with the prefix before the first row. For short prefixes the rows
    are therefore read once and cached, for the single search that this object serves.
    """

    def __init__(self) -> None:
        self._cache: dict[str, array[int]] = {}

    def add(self, owner: int, documents: Iterable[Document]) -> None:
        rows = [((each.index_state << 32) | each.entry, _document_text(owner, each)) for each in documents]
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO chat_searchindex (rowid, words) VALUES (%s, %s)", rows)

    def matching_states(self, owner: int, term: Term) -> set[int]:
        if _has_many_words(term):
            return {row >> 32 for row in self._rows(_match(owner, term))}
        sql = "SELECT DISTINCT rowid >> 32 FROM chat_searchindex WHERE chat_searchindex MATCH %s"
        with connection.cursor() as cursor:
            cursor.execute(sql, [_match(owner, term)])
            return {index_state for (index_state,) in cursor.fetchall()}

    def entries(self, owner: int, term: Term, states: Collection[int]) -> Iterator[tuple[int, int]]:
        if _has_many_words(term):
            yield from _within(states, self._rows(_match(owner, term)))
            return
        among = ", ".join(str(int(index_state)) for index_state in states)
        sql = (
            "SELECT rowid >> 32, rowid & 4294967295 FROM chat_searchindex"  # noqa: S608 (whole numbers)
            f" WHERE chat_searchindex MATCH %s AND rowid BETWEEN %s AND %s AND (rowid >> 32) IN ({among})"
            " ORDER BY rowid"
        )
        if not states:
            return
        # The bounds let FTS5 seek to the first row; it cannot use the condition on half of a key.
        first, last = min(states) << 32, (max(states) + 1 << 32) - 1
        with connection.cursor() as cursor:
            cursor.execute(sql, [_match(owner, term), first, last])
            yield from cursor.fetchall()

    def _rows(self, match: str) -> array[int]:
        if match not in self._cache:
            with connection.cursor() as cursor:
                sql = "SELECT rowid FROM chat_searchindex WHERE chat_searchindex MATCH %s ORDER BY rowid"
                cursor.execute(sql, [match])
                self._cache[match] = array("q", (row for (row,) in cursor))
        return self._cache[match]


def _has_many_words(term: Term) -> bool:
    return term.open and len(term.words) == 1 and len(term.words[0]) <= SHORT


def _within(states: Collection[int], rows: array[int]) -> Iterator[tuple[int, int]]:
    """The halves of those sorted rowids that belong to these states."""
    for index_state in sorted(states):
        first, behind = bisect_left(rows, index_state << 32), bisect_left(rows, index_state + 1 << 32)
        yield from ((index_state, row & 0xFFFFFFFF) for row in rows[first:behind])


def _document_text(owner: int, document: Document) -> str:
    words = [f"{owner}:{word}" for word in document.words]
    for word in document.inner:
        words += [_GAP, f"{owner}:{word}"]
    return " ".join(words)


def _match(owner: int, term: Term) -> str:
    words = " ".join(f"{owner}:{word}" for word in term.words)
    return f'"{words}"{" *" if term.open else ""}'


class PostgresStore:
    """A lexeme is owner, colon and word; inner words have no position, so that no phrase matches them."""

    def add(self, owner: int, documents: Iterable[Document]) -> None:
        rows = [(each.entry, each.index_state, _document_words(owner, each)) for each in documents]
        with connection.cursor() as cursor:
            sql = "INSERT INTO chat_searchindex (entry, index_state, words) VALUES (%s, %s, %s::tsvector)"
            cursor.executemany(sql, rows)

    def matching_states(self, owner: int, term: Term) -> set[int]:
        with connection.cursor() as cursor:
            sql = "SELECT DISTINCT index_state FROM chat_searchindex WHERE words @@ %s::tsquery"
            cursor.execute(sql, [_ts_query(owner, term)])
            return {index_state for (index_state,) in cursor.fetchall()}

    def entries(self, owner: int, term: Term, states: Collection[int]) -> Iterator[tuple[int, int]]:
        sql = (
            "SELECT index_state, entry FROM chat_searchindex"
            " WHERE words @@ %s::tsquery AND index_state = ANY(%s) ORDER BY entry"
        )
        with connection.cursor() as cursor:
            cursor.execute(sql, [_ts_query(owner, term), list(states)])
            yield from cursor.fetchall()


def _document_words(owner: int, document: Document) -> str:
    positions = defaultdict[str, list[str]](list)
    for position, word in enumerate(document.words, 1):
        positions[word].append(str(position))
    for word in document.inner:
        positions.setdefault(word, [])
    return " ".join(
        _lexeme(owner, word) + (f":{','.join(at)}" if at else "") for word, at in positions.items()
    )


def _ts_query(owner: int, term: Term) -> str:
    phrase = " <-> ".join(_lexeme(owner, word) for word in term.words)
    return f"{phrase}:*" if term.open else phrase


def _lexeme(owner: int, word: str) -> str:
    quoted = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{owner}:{quoted}'"
