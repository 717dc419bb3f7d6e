"""Places: where in a conversation the terms stand, with a bit of the text and the address of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

from django.urls import reverse

from chat.models import Conversation, Message, SearchEntry, TodoRevision, ToolCall
from chat.models.conversation import ConversationQuerySet
from chat.search import documents
from chat.search.query import Query
from chat.search.store import Store, Term, store
from chat.search.words import READ, Word, folded, prepared, words_of

Kind = SearchEntry.Kind
MOST_LOOKED_AT = 200  # entries of one conversation


@dataclass(frozen=True)
class SearchHit:
    """One thing in which something was found; the row is what it is drawn from, where it is one."""

    kind: Kind
    row: Any
    address: str
    excerpt: Sequence[Part]


@dataclass(frozen=True)
class Result:
    """A conversation that was found: its title, its most telling places, and how many more there are."""

    conversation: Conversation
    title: Sequence[Part]
    places: Sequence[SearchHit]
    more: int = 0


def results(conversations: Sequence[Conversation], found: Found, most: int) -> list[Result]:
    """Each of these conversations of one owner, which are of those found, with at most `most` places."""
    states = {each.search_index_state.pk: each for each in conversations}
    entries = _entries(conversations[0].owner_id, states, found) if conversations else {}
    terms = found.terms
    shown = {index_state: best[:most] for index_state, best in entries.items()}
    rows = _Rows(entry for best in shown.values() for entry in best)
    return [
        Result(
            conversation,
            excerpt(prepared(conversation.title), terms),
            [
                place
                for entry in shown.get(index_state, [])
                if (place := rows.place(conversation, entry, terms))
            ],
            len(entries.get(index_state, [])) - len(shown.get(index_state, [])),
        )
        for index_state, conversation in states.items()
    ]


def _entries(owner: int, states: Mapping[int, Conversation], found: Found) -> dict[int, list[SearchEntry]]:
    """The entries of each index state that match a term, best first, each thing once, without titles."""
    met: dict[int, Counter[int]] = {index_state: Counter() for index_state in states}
    for term in found.terms:
        for index_state, entry in found.store.entries(owner, term, states):
            if len(met[index_state]) < MOST_LOOKED_AT or entry in met[index_state]:
                met[index_state][entry] += 1
    rows = SearchEntry.objects.in_bulk([entry for counted in met.values() for entry in counted])
    return {index_state: _each_once(counted, rows) for index_state, counted in met.items()}


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

    def place(
        self, conversation: Conversation, entry: SearchEntry, terms: Sequence[Term]
    ) -> SearchHit | None:
        """Where the entry is, as the row says it now; None where the row is gone, or says something else."""
        row, text, address = self._told(conversation, entry)
        parts = documents.parts_of(text)
        if entry.part >= len(parts):
            return None
        told = excerpt(parts[entry.part], terms)
        words = next((piece.text for piece in told if piece.hit), "")
        if words and isinstance(row, Message | ToolCall):  # the page marks them
            address = address.replace("#", f"?{urlencode({'find': words})}#")
        return SearchHit(Kind(entry.kind), row, address, told)

    def _told(self, conversation: Conversation, entry: SearchEntry) -> tuple[Any, str, str]:
        page = reverse("conversation", args=[conversation.pk])
        match entry.kind:
            case Kind.MESSAGE if message := self.messages.get(entry.row):
                return message, message.text, f"{page}#{message.dom_id}"
            case Kind.CALL if call := self.calls.get(entry.row):
                return call, documents.text_of_call(call), f"{page}#{call.dom_id}"
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
        return (found[0], documents.text_of_item(found[0]), address) if found else (None, "", "")


FEW = 500  # keys that are named to the database; of more it tells all that there are


@dataclass(frozen=True)
class Found:
    """The states of the conversations found, the newest first, and the terms as the store has met them."""

    states: list[int]
    terms: tuple[Term, ...]
    store: Store


def find(conversations: ConversationQuerySet, owner: int, query: Query) -> Found:
    """Those of the owner's conversations that have all of the query's terms, be it in different places."""
    kept = store()
    met = [_meet(kept, owner, term) for term in query.terms]
    states = set.intersection(*(states for _term, states in met))
    return Found(_in_order(conversations, states), tuple(term for term, _shelves in met), kept)


def _meet(kept: Store, owner: int, term: Term) -> tuple[Term, set[int]]:
    """Where the term is; a short word that is nowhere as a whole is met where a longer one begins with it."""
    states = kept.matching_states(owner, term)
    if not states and not term.open and not term.exact:
        term = replace(term, open=True)
        states = kept.matching_states(owner, term)
    return term, states


def _in_order(conversations: ConversationQuerySet, states: set[int]) -> list[int]:
    if not states:
        return []
    if len(states) <= FEW:
        conversations = conversations.filter(search_index_state__in=states)
    every = conversations.values_list("search_index_state", flat=True)
    return [index_state for index_state in every if index_state in states]


LENGTH = 200  # characters that are shown
AHEAD = 60  # of them ahead of what was found
MOST = 100  # hits among which the best is looked for
_BLANKS = re.compile(r"\s+")
Span = tuple[int, int]


@dataclass(frozen=True)
class Part:
    """A bit of the excerpt; a `hit` is what was searched for."""

    text: str
    hit: bool = False


def excerpt(text: str, terms: Iterable[Term]) -> list[Part]:
    """The stretch of a prepared text in which most was found, or its beginning; blanks are one space each."""
    spans = hits(text, terms)
    start = _start(text, spans)
    end = min(len(text), start + LENGTH)
    pieces = [Part(_BLANKS.sub(" ", each.text), each.hit) for each in _pieces(text, start, end, spans)]
    ahead = [Part("…")] if start else []
    behind = [Part("…")] if end < len(text) else []
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


def _pieces(text: str, start: int, end: int, spans: Iterable[Span]) -> Iterator[Part]:
    at = start
    for first, last in spans:
        if first >= end or last <= start:
            continue
        if at < first:
            yield Part(text[at:first])
        at = min(last, end)
        yield Part(text[max(first, start) : at], hit=True)
    if at < end:
        yield Part(text[at:end])


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
