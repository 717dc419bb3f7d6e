"""Finding: the conversations in which all terms of a query occur."""

from __future__ import annotations

from dataclasses import dataclass, replace

from chat.models.conversation_queryset import ConversationQuerySet
from chat.models.search.store import Store, store
from chat.models.search.term import Term
from chat.search.query import Query

FEW = 500  # keys that are named to the database; of more it tells all that there are


@dataclass(frozen=True)
class Found:
    """The shelves of the conversations found, the newest first, and the terms as the store has met them."""

    shelves: list[int]
    terms: tuple[Term, ...]
    store: Store


def find(conversations: ConversationQuerySet, owner: int, query: Query) -> Found:
    """Those of the owner's conversations that have all of the query's terms, be it in different places."""
    kept = store()
    met = [_meet(kept, owner, term) for term in query.terms]
    shelves = set.intersection(*(shelves for _term, shelves in met))
    return Found(_in_order(conversations, shelves), tuple(term for term, _shelves in met), kept)


def _meet(kept: Store, owner: int, term: Term) -> tuple[Term, set[int]]:
    """Where the term is; a short word that is nowhere as a whole is met where a longer one begins with it."""
    shelves = kept.shelves(owner, term)
    if not shelves and not term.open and not term.exact:
        term = replace(term, open=True)
        shelves = kept.shelves(owner, term)
    return term, shelves


def _in_order(conversations: ConversationQuerySet, shelves: set[int]) -> list[int]:
    if not shelves:
        return []
    if len(shelves) <= FEW:
        conversations = conversations.filter(search_shelf__in=shelves)
    every = conversations.values_list("search_shelf", flat=True)
    return [shelf for shelf in every if shelf in shelves]
