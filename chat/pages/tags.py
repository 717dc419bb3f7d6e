"""A person's tags: how often each is used, and how to call it otherwise or be rid of it."""

from __future__ import annotations

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.db.models import Count, Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from chat.live.broadcast import publish_sidebar
from chat.models import BulkAct, Tag, TagRefused
from chat.pages.bulk import act_on
from chat.pages.signed_in import SignedInRequest


@require_safe
def tags(request: SignedInRequest) -> HttpResponse:
    """All of them, each with its number of conversations."""
    kept = Q(conversations__deleted_at__isnull=True)
    counted = Tag.objects.filter(owner=request.user).annotate(number=Count("conversations", filter=kept))
    context = {"tags": counted.filter(number__gt=0), "undoable": BulkAct.offered_to(request.user)}
    return render(request, "tags.html", context)


@require_POST
def rename(request: SignedInRequest, tag_id: int) -> HttpResponse:
    """Call it otherwise; with the word of another tag the two become one."""
    tag = get_object_or_404(Tag, pk=tag_id, owner=request.user)
    try:
        now = tag.rename(request.POST.get("word", ""))
    except TagRefused as refusal:
        messages.error(request, str(refusal))
        return redirect("tags")
    if now.pk != tag_id:
        messages.success(
            request, _("“%(word)s” and “%(other)s” were merged.") % {"word": tag.word, "other": now.word}
        )
    async_to_sync(publish_sidebar)(request.user.pk, "organised")
    return redirect("tags")


@require_POST
def delete(request: SignedInRequest, tag_id: int) -> HttpResponse:
    """Take it off all conversations, which can be undone for a while."""
    tag = get_object_or_404(Tag, pk=tag_id, owner=request.user)
    tagged = list(tag.conversations.values_list("pk", flat=True))
    act_on(request, BulkAct.Kind.UNTAG, tagged, tag.word)
    return redirect("tags")
