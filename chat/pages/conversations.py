"""Past conversations: the pinned ones, then the newest first."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.core.paginator import Page, Paginator
from django.db.models import prefetch_related_objects
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from chat.models import BulkAct, Conversation, Profile, Tag
from chat.models.conversation import ConversationQuerySet
from chat.models.tag import LONGEST, normalised
from chat.pages.search_form import SearchForm
from chat.pages.signed_in import SignedInRequest
from chat.search.conversation_filter import ConversationFilter
from chat.search.index import is_complete, unindexed
from chat.search.query import Query, QueryRefused, query_of
from chat.search.results import Result, find, results

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


PAGE = 30


@require_safe
def conversations(request: SignedInRequest) -> HttpResponse:
    """A page of thirty, each with its final todo counts, of those that are asked for; or what was found."""
    form = SearchForm(request.GET)
    listing = ConversationList.asked(form)
    search = Search.of(request, form)
    if search.query:
        search.run(search.query, listing.searched(request.user), request)
        context = {"listing": listing, "search": search, "page": search.page}
        return render(request, "conversations.html", context)
    found = listing.of(request.user)
    page = Paginator(found, PAGE).get_page(request.GET.get("page"))
    start = page.start_index() - 1 if page.paginator.count else 0
    rows = found.listed(start, start + PAGE)
    tags = list(Tag.objects.filter(owner=request.user.pk))
    if tags:
        prefetch_related_objects(rows, "tags")
    context = {
        "listing": listing,
        "search": search,
        "page": page,
        "conversations": rows,
        "tags": tags,
        "undoable": BulkAct.offered_to(request.user),
    }
    return render(request, "conversations.html", context)


HITS_PER_PAGE = 20
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
        self.page = Paginator(found.states, HITS_PER_PAGE).get_page(request.GET.get("page"))
        states = list(self.page.object_list)
        rows = Conversation.objects.select_related("search_index_state").filter(search_index_state__in=states)
        by_state = {row.search_index_state.pk: row for row in rows}
        self.inside = key is not None
        ordered = [by_state[index_state] for index_state in states if index_state in by_state]
        self.results = results(ordered, found, MOST_IN_ONE if self.inside else MOST_PLACES)
        self.unindexed = 0 if is_complete() else unindexed().visible_to(request.user).count()


def _key(given: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(given) if given else None
    except ValueError:
        return None


@dataclass(frozen=True)
class ConversationList:
    """What an address asks for: those that the filters let through, the archive, those with a tag."""

    narrowing: ConversationFilter = field(default_factory=ConversationFilter)
    archived: bool = False
    tag: str = ""

    @classmethod
    def asked(cls, form: SearchForm) -> ConversationList:
        """What the query of a list's address asks for, which the form is of; nonsense asks for nothing."""
        tag = normalised(form.data.get("tag", ""))
        return cls(form.narrowing(), form.data.get("archived") == "1", tag[: 2 * LONGEST])

    def of(self, user: User | AnonymousUser) -> ConversationQuerySet:
        """The user's conversations that it asks for, in the order of the list."""
        found = self.searched(user)
        return found if self.archived else found.current().pinned_first()

    def searched(self, user: User | AnonymousUser) -> ConversationQuerySet:
        """Those among which words are looked for, newest first: of the archive too if it is not asked for."""
        found = self.narrowing.of(Conversation.objects.visible_to(user))
        if self.tag:
            found = found.tagged(self.tag)
        return found.archived() if self.archived else found

    @property
    def unfinished(self) -> bool:
        """Whether it asks for those with open todos, and for nothing else."""
        return self == ConversationList(ConversationFilter(todos="unfinished"))

    @property
    def query(self) -> str:
        """The same as an address has it, without a page."""
        query = QueryDict(mutable=True)
        query.update(self.narrowing.asked)
        if self.archived:
            query["archived"] = "1"
        if self.tag:
            query["tag"] = self.tag
        return query.urlencode()
