"""Where the words are kept: in the full-text index of the database that is in use."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from django.db import connection

from chat.models.search.postgres_store import PostgresStore
from chat.models.search.sqlite_store import SqliteStore
from chat.models.search.term import Term


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
