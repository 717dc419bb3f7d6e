"""Past conversations: the pinned ones, then the newest first."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.db.models import prefetch_related_objects
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from chat.models import BulkAct, Tag
from chat.pages.listing import Listing
from chat.pages.search import Search
from chat.pages.search_form import SearchForm
from chat.pages.signed_in import SignedInRequest

PAGE = 30


@require_safe
def conversations(request: SignedInRequest) -> HttpResponse:
    """A page of thirty, each with its final todo counts, of those that are asked for; or what was found."""
    form = SearchForm(request.GET)
    listing = Listing.asked(form)
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
