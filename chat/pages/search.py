"""What the list of conversations shows of a search: which were found, and where in them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from django.core.paginator import Page, Paginator

from chat.models import Conversation, Profile
from chat.models.conversation_queryset import ConversationQuerySet
from chat.models.search.catch_up import is_complete, unindexed
from chat.pages.search_form import SearchForm
from chat.pages.signed_in import SignedInRequest
from chat.search.finding import find
from chat.search.places import Result, results
from chat.search.query import Query, QueryRefused, query_of

PAGE = 20
MOST_PLACES = 3  # of a conversation on the page of all
MOST_IN_ONE = 200


@dataclass
class Search:
    """What a request asks for; `problem` says why its words cannot be searched for."""

    form: SearchForm
    problem: str = ""
    query: Query | None = None
    page: Page[int] | None = None
    results: list[Result] = field(default_factory=list)
    inside: bool = False
    unindexed: int = 0

    @classmethod
    def of(cls, request: SignedInRequest, form: SearchForm) -> Search:
        """The search in the request's address, which the form is of; one without words finds nothing."""
        search = cls(form)
        search.form.offer(Profile.offered_to(request.user))
        try:
            search.query = query_of(typed) if (typed := request.GET.get("q", "")).strip() else None
        except QueryRefused as refusal:
            search.problem = str(refusal)
        return search

    @property
    def is_narrow(self) -> bool:
        """Whether anything beyond words was asked for."""
        return any(bound.data for bound in self.form.filters)

    def run(self, query: Query, conversations: ConversationQuerySet, request: SignedInRequest) -> None:
        """Find the page's conversations among these; with `in` only that one, and all places in it."""
        key = _key(request.GET.get("in", ""))
        among = conversations.filter(pk=key) if key else conversations
        found = find(among, request.user.pk, query)
        self.page = Paginator(found.shelves, PAGE).get_page(request.GET.get("page"))
        shelves = list(self.page.object_list)
        rows = Conversation.objects.select_related("search_shelf").filter(search_shelf__in=shelves)
        by_shelf = {row.search_shelf.pk: row for row in rows}
        self.inside = key is not None
        ordered = [by_shelf[shelf] for shelf in shelves if shelf in by_shelf]
        self.results = results(ordered, found, MOST_IN_ONE if self.inside else MOST_PLACES)
        self.unindexed = 0 if is_complete() else unindexed().visible_to(request.user).count()


def _key(given: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(given) if given else None
    except ValueError:
        return None
