"""The user's tags: list with counts, rename, delete."""

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
from chat.pages.audience import audience
from chat.pages.bulk import act_on
from chat.pages.signed_in import SignedInRequest


@audience("signed_in")
@require_safe
def tags(request: SignedInRequest) -> HttpResponse:
    kept = Q(conversations__deleted_at__isnull=True)
    current = kept & Q(conversations__archived_at__isnull=True)
    own = Tag.objects.filter(owner=request.user).annotate(
        number=Count("conversations", filter=current), archived=Count("conversations", filter=kept & ~current)
    )
    used = own.filter(Q(number__gt=0) | Q(archived__gt=0))
    context = {"tags": used, "undoables": BulkAct.offered_to(request.user)}
    return render(request, "tags.html", context)


@audience("owner")
@require_POST
def rename(request: SignedInRequest, tag_id: int) -> HttpResponse:
    """Rename a tag; a name that already exists merges the two."""
    tag = get_object_or_404(Tag, pk=tag_id, owner=request.user)
    try:
        renamed = tag.rename(request.POST.get("word", ""))
    except TagRefused as refusal:
        messages.error(request, str(refusal))
        return redirect("tags")
    if renamed.pk != tag_id:
        messages.success(
            request, _("“%(word)s” and “%(other)s” were merged.") % {"word": tag.word, "other": renamed.word}
        )
    async_to_sync(publish_sidebar)(request.user.pk, "organised")
    return redirect("tags")


@audience("owner")
@require_POST
def delete(request: SignedInRequest, tag_id: int) -> HttpResponse:
    tag = get_object_or_404(Tag, pk=tag_id, owner=request.user)
    conversations = list(tag.conversations.values_list("pk", flat=True))
    act_on(request, BulkAct.Kind.UNTAG, conversations, tag.word)
    return redirect("tags")
