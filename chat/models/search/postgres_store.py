"""The words in PostgreSQL: a text-search vector for each entry, made of words that are told apart already."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from django.db import connection

from chat.models.search.term import Term

if TYPE_CHECKING:
    from chat.models.search.store import Document


class PostgresStore:
    """A lexeme is the owner, a colon and the word; an inner one has no position, so no phrase has it."""

    def add(self, owner: int, documents: Iterable[Document]) -> None:
        rows = [(each.entry, each.shelf, _written(owner, each)) for each in documents]
        with connection.cursor() as cursor:
            asked = "INSERT INTO chat_searchindex (entry, shelf, words) VALUES (%s, %s, %s::tsvector)"
            cursor.executemany(asked, rows)

    def shelves(self, owner: int, term: Term) -> set[int]:
        with connection.cursor() as cursor:
            asked = "SELECT DISTINCT shelf FROM chat_searchindex WHERE words @@ %s::tsquery"
            cursor.execute(asked, [_match(owner, term)])
            return {shelf for (shelf,) in cursor.fetchall()}

    def entries(self, owner: int, term: Term, shelves: Collection[int]) -> Iterator[tuple[int, int]]:
        asked = (
            "SELECT shelf, entry FROM chat_searchindex"
            " WHERE words @@ %s::tsquery AND shelf = ANY(%s) ORDER BY entry"
        )
        with connection.cursor() as cursor:
            cursor.execute(asked, [_match(owner, term), list(shelves)])
            yield from cursor.fetchall()


def _written(owner: int, document: Document) -> str:
    places = defaultdict[str, list[str]](list)
    for place, word in enumerate(document.words, 1):
        places[word].append(str(place))
    for word in document.inner:
        places.setdefault(word, [])
    return " ".join(_lexeme(owner, word) + (f":{','.join(at)}" if at else "") for word, at in places.items())


def _match(owner: int, term: Term) -> str:
    """The term as `tsquery` reads it: words that follow each other, the last one open if it has a star."""
    phrase = " <-> ".join(_lexeme(owner, word) for word in term.words)
    return f"{phrase}:*" if term.open else phrase


def _lexeme(owner: int, word: str) -> str:
    quoted = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{owner}:{quoted}'"
