"""The list of conversations: pinned ones, then newest first."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from chat.models import BulkAct, Conversation, Profile, Tag
from chat.models.conversation_queries import ConversationQuerySet
from chat.models.tag import MAX_LENGTH, SIGNS, normalised
from chat.pages.audience import audience
from chat.pages.import_views import IMPORTED_KEY
from chat.pages.search_form import SearchForm
from chat.pages.signed_in import SignedInRequest
from chat.search.conversation_filter import ConversationFilter
from chat.search.index import is_complete, unindexed
from chat.search.query import Query, QueryRefused, query_of
from chat.search.results import Result, find, results

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


ROWS_PER_PAGE = 30


@audience("signed_in")
@require_safe
def conversations(request: SignedInRequest) -> HttpResponse:
    if sentence := request.session.pop(IMPORTED_KEY, ""):
        messages.success(request, sentence)
    form = SearchForm(request.GET)
    list_query = ListQuery.from_form(form)
    search = Search.of(request, form)
    if not list_query.tag and (tag := search.tag_alone(request)):
        list_query, search.query = replace(list_query, tag=tag.word), None
    if search.query:
        search.run(search.query, list_query.search_scope(request.user), request)
        return _render(request, {"list_query": list_query, "search": search, "page": search.page})
    matching = list_query.rows(request.user)
    page = Paginator(matching, ROWS_PER_PAGE).get_page(request.GET.get("page"))
    start = page.start_index() - 1 if page.paginator.count else 0
    rows = matching.listed(start, start + ROWS_PER_PAGE)
    context = {
        "list_query": list_query,
        "search": search,
        "page": page,
        "groups": _groups(rows, list_query),
        "undoables": BulkAct.offered_to(request.user),
    }
    return _render(request, context)


def _groups(rows: list[Conversation], list_query: ListQuery) -> list[tuple[str, list[Conversation]]]:
    """The rows beneath their headings, "" for none: pinned ones, others, and archived ones of a tag."""

    def heading_of(row: Conversation) -> str:
        if row.archived and not list_query.archived:
            return _("Archived")
        return _("Pinned") if row.pinned and not list_query.archived else ""

    groups = [(heading, list(some)) for heading, some in groupby(rows, heading_of)]
    return [(heading or (_("Others") if at else ""), some) for at, (heading, some) in enumerate(groups)]


def _render(request: SignedInRequest, context: dict[str, Any]) -> HttpResponse:
    """The page, or what is beneath its search box, for the script that searches as the user types."""
    is_part = request.headers.get("HX-Target") == "div#found"
    kept = {name: value for name in ("q", "tag") if (value := request.GET.get(name, ""))}
    context |= {
        "is_part": is_part,
        "kept_by_tabs": urlencode(kept, quote_via=quote),
        "tags": Tag.objects.filter(owner=request.user.pk),
        "any_shared": Conversation.objects.visible_to(request.user).shared().exists(),
    }
    response = render(request, "partials/_found.html" if is_part else "conversations.html", context)
    patch_vary_headers(response, ["HX-Target"])
    return response


HITS_PER_PAGE = 20
MAX_HITS_PER_CONVERSATION = 3
MAX_HITS_INSIDE = 200  # where the search is limited to one conversation


@dataclass
class Search:
    form: SearchForm
    problem: str = ""
    query: Query | None = None
    page: Page[int] | None = None
    results: list[Result] = field(default_factory=list)
    inside: bool = False
    unindexed: int = 0
    tags: list[Tag] = field(default_factory=list)

    @classmethod
    def of(cls, request: SignedInRequest, form: SearchForm) -> Search:
        """Parse the search in the URL's query; `query` stays None if it has no words."""
        search = cls(form)
        search.form.offer(Profile.offered_to(request.user))
        try:
            search.query = query_of(typed) if (typed := request.GET.get("q", "")).strip() else None
        except QueryRefused as refusal:
            search.problem = str(refusal)
        return search

    def tag_alone(self, request: SignedInRequest) -> Tag | None:
        """The tag that was typed as it is shown, and nothing else: #work."""
        typed = request.GET.get("q", "").strip()
        if request.GET.get("in") or not typed.startswith(SIGNS):
            return None
        return Tag.named(request.user.pk, typed)

    @property
    def is_narrow(self) -> bool:
        return any(field.data for field in self.form.filters)

    @property
    def problems(self) -> list[str]:
        """What is wrong with the words, and with the filters together."""
        return [*filter(None, [self.problem]), *self.form.non_field_errors()]

    def run(self, query: Query, conversations: ConversationQuerySet, request: SignedInRequest) -> None:
        """Find one page of results, and tags; `?in=` limits it to one conversation, with all hits in it."""
        key = _parse_key(request.GET.get("in", ""))
        scope = conversations.filter(pk=key) if key else conversations
        matches = find(scope, request.user.pk, query)
        self.page = Paginator(matches.states, HITS_PER_PAGE).get_page(request.GET.get("page"))
        states = list(self.page.object_list)
        rows = Conversation.objects.filter(search_index_state__in=states)
        by_state = {row.search_index_state.pk: row for row in rows.select_related("search_index_state")}
        self.inside = key is not None
        self.tags = [] if key else Tag.containing(request.user.pk, request.GET["q"])
        ordered = [by_state[state] for state in states if state in by_state]
        self.results = results(
            ordered, matches, MAX_HITS_INSIDE if self.inside else MAX_HITS_PER_CONVERSATION
        )
        self.unindexed = 0 if is_complete() else unindexed().visible_to(request.user).count()


def _parse_key(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text) if text else None
    except ValueError:
        return None


@dataclass(frozen=True)
class ListQuery:
    filter: ConversationFilter = field(default_factory=ConversationFilter)
    archived: bool = False
    tag: str = ""
    shared: bool = False

    @classmethod
    def from_form(cls, form: SearchForm) -> ListQuery:
        """Parse the form's data; invalid values are ignored."""
        tag = normalised(form.data.get("tag", ""))
        archived, shared = (form.data.get(name) == "1" for name in ("archived", "shared"))
        return cls(form.conversation_filter(), archived, tag[: 2 * MAX_LENGTH], shared)

    def rows(self, user: User | AnonymousUser) -> ConversationQuerySet:
        """The list: without archived ones, unless they are asked for, have the tag or are shared."""
        matching = self.search_scope(user)
        if self.archived:
            return matching
        return matching.archived_last() if self.tag or self.shared else matching.current().pinned_first()

    def search_scope(self, user: User | AnonymousUser) -> ConversationQuerySet:
        """The conversations to search in, newest first: archived ones too, unless only those are listed."""
        rows = self.filter.apply(Conversation.objects.visible_to(user))
        if self.tag:
            rows = rows.tagged(self.tag)
        if self.shared:
            rows = rows.shared()
        return rows.archived() if self.archived else rows

    @property
    def tab(self) -> str:
        """The tab above the list that it belongs to."""
        if self.archived:
            return "archive"
        if self.shared:
            return "shared"
        return "unfinished" if self.filter.todos == "unfinished" else "all"

    @property
    def unfinished(self) -> bool:
        return self == ListQuery(ConversationFilter(todos="unfinished"))

    @property
    def without_tag(self) -> str:
        return replace(self, tag="").query

    @property
    def query(self) -> str:
        query = QueryDict(mutable=True)
        query.update(self.filter.query_params)
        if self.archived:
            query["archived"] = "1"
        if self.shared:
            query["shared"] = "1"
        if self.tag:
            query["tag"] = self.tag
        return query.urlencode()
