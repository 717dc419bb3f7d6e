"""Places: where in a conversation the terms stand, with a bit of the text and the address of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from django.urls import reverse

from chat.models import Conversation, Message, SearchEntry, TodoRevision, ToolCall
from chat.models.search import pieces
from chat.models.search.term import Term
from chat.models.search.words import prepared
from chat.search.excerpt import Piece, excerpt
from chat.search.finding import Found

Kind = SearchEntry.Kind
MOST_LOOKED_AT = 200  # entries of one conversation


@dataclass(frozen=True)
class Place:
    """One thing in which something was found; the row is what it is drawn from, where it is one."""

    kind: Kind
    row: Any
    address: str
    excerpt: Sequence[Piece]


@dataclass(frozen=True)
class Result:
    """A conversation that was found: its title, its most telling places, and how many more there are."""

    conversation: Conversation
    title: Sequence[Piece]
    places: Sequence[Place]
    more: int = 0


def results(conversations: Sequence[Conversation], found: Found, most: int) -> list[Result]:
    """Each of these conversations of one owner, which are of those found, with at most `most` places."""
    shelves = {each.search_shelf.pk: each for each in conversations}
    entries = _entries(conversations[0].owner_id, shelves, found) if conversations else {}
    terms = found.terms
    shown = {shelf: best[:most] for shelf, best in entries.items()}
    rows = _Rows(entry for best in shown.values() for entry in best)
    return [
        Result(
            conversation,
            excerpt(prepared(conversation.title), terms),
            [place for entry in shown.get(shelf, []) if (place := rows.place(conversation, entry, terms))],
            len(entries.get(shelf, [])) - len(shown.get(shelf, [])),
        )
        for shelf, conversation in shelves.items()
    ]


def _entries(owner: int, shelves: Mapping[int, Conversation], found: Found) -> dict[int, list[SearchEntry]]:
    """The entries on each shelf that have a term, those with the most first; each thing once, no title."""
    met: dict[int, Counter[int]] = {shelf: Counter() for shelf in shelves}
    for term in found.terms:
        for shelf, entry in found.store.entries(owner, term, shelves):
            if len(met[shelf]) < MOST_LOOKED_AT or entry in met[shelf]:
                met[shelf][entry] += 1
    rows = SearchEntry.objects.in_bulk([entry for counted in met.values() for entry in counted])
    return {shelf: _each_once(counted, rows) for shelf, counted in met.items()}


def _each_once(met: Counter[int], rows: Mapping[int, SearchEntry]) -> list[SearchEntry]:
    there = (entry for entry in met if entry in rows)
    best = sorted(there, key=lambda entry: (-met[entry], rows[entry].kind == Kind.FILE, entry))
    things = {(rows[entry].kind, rows[entry].row, rows[entry].place): rows[entry] for entry in reversed(best)}
    return [thing for thing in reversed(things.values()) if thing.kind != Kind.TITLE]


class _Rows:
    """The rows that entries speak of, read in a query for each kind."""

    def __init__(self, entries: Iterable[SearchEntry]) -> None:
        keys: dict[str, set[int]] = {kind: set() for kind in Kind.values}
        for entry in entries:
            keys[entry.kind].add(entry.row)
        self.messages = Message.objects.select_related("turn").in_bulk(keys[Kind.MESSAGE])
        self.calls = ToolCall.objects.in_bulk(keys[Kind.CALL])
        self.revisions = TodoRevision.objects.in_bulk(keys[Kind.TODO])

    def place(self, conversation: Conversation, entry: SearchEntry, terms: Sequence[Term]) -> Place | None:
        """Where the entry is, as the row says it now; None where the row is gone, or says something else."""
        row, text, address = self._told(conversation, entry)
        parts = pieces.parts_of(text)
        if entry.part >= len(parts):
            return None
        told = excerpt(parts[entry.part], terms)
        words = next((piece.text for piece in told if piece.hit), "")
        if words and isinstance(row, Message | ToolCall):  # the page marks them
            address = address.replace("#", f"?{urlencode({'find': words})}#")
        return Place(Kind(entry.kind), row, address, told)

    def _told(self, conversation: Conversation, entry: SearchEntry) -> tuple[Any, str, str]:
        page = reverse("conversation", args=[conversation.pk])
        match entry.kind:
            case Kind.MESSAGE if message := self.messages.get(entry.row):
                return message, message.text, f"{page}#{message.dom_id}"
            case Kind.CALL if call := self.calls.get(entry.row):
                return call, pieces.text_of_call(call), f"{page}#{call.dom_id}"
            case Kind.TODO if revision := self.revisions.get(entry.row):
                return self._todo(conversation, revision, entry.place)
            case Kind.FILE:
                address = f"{reverse('file', args=[conversation.pk])}?path={quote(entry.place)}"
                return None, entry.place, address
        return None, "", ""

    def _todo(self, conversation: Conversation, revision: TodoRevision, item_id: str) -> tuple[Any, str, str]:
        found = [item for item in revision.items if str(item.get("id", "")) == item_id]
        number = conversation.revisions.filter(pk__lte=revision.pk).count()
        address = f"{reverse('plan', args=[conversation.pk])}?revision={number}#item-{quote(item_id)}"
        return (found[0], pieces.text_of_item(found[0]), address) if found else (None, "", "")
