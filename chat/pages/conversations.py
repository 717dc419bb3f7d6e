"""Past conversations, newest first."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from chat.models import Conversation

PAGE = 50


@require_safe
def conversations(request: HttpRequest) -> HttpResponse:
    """A page of fifty, each with its final todo counts; with `todos=unfinished` those that have open ones."""
    visible = Conversation.objects.visible_to(request.user)
    only_unfinished = request.GET.get("todos") == "unfinished"
    if only_unfinished:
        visible = visible.unfinished()
    page = Paginator(visible, PAGE).get_page(request.GET.get("page"))
    start = page.start_index() - 1 if page.paginator.count else 0
    context = {
        "page": page,
        "conversations": visible.listed(start, start + PAGE),
        "only_unfinished": only_unfinished,
    }
    return render(request, "conversations.html", context)
