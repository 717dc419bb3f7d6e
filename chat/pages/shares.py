"""The share links of a conversation: list, create, revoke."""

from __future__ import annotations

import datetime
import uuid

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from chat.files.conversation_workspace import workspace_of
from chat.files.shared_files import shareable
from chat.models import Attachment, Conversation, ShareLink, ShareRefused
from chat.pages.audience import audience
from chat.pages.conversation import own_conversation
from chat.pages.signed_in import SignedInRequest

DAYS = {"1": 1, "7": 7, "30": 30}


@audience("owner")
@require_http_methods(["GET", "HEAD", "POST"])
def shares(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    conversation = own_conversation(request, conversation_id)
    if request.method != "POST":
        return _page(request, conversation)
    try:
        with_files = bool(request.POST.get("with_files"))
        files = shareable(workspace_of(conversation)) if with_files else None
        ShareLink.make(conversation, _end(request), files)
    except ShareRefused as refusal:
        return _page(request, conversation, str(refusal))
    return redirect("shares", conversation.pk)


@audience("owner")
@require_POST
def revoke(request: SignedInRequest, conversation_id: uuid.UUID, link_id: int) -> HttpResponse:
    conversation = own_conversation(request, conversation_id)
    get_object_or_404(ShareLink, pk=link_id, conversation=conversation).revoke()
    return redirect("shares", conversation.pk)


def _end(request: SignedInRequest) -> datetime.datetime:
    chosen = request.POST.get("days", "7")
    if chosen in DAYS:
        return timezone.now() + datetime.timedelta(days=DAYS[chosen])
    try:
        day = parse_date(request.POST.get("until", ""))
    except ValueError:
        day = None
    if day is None or day.year > 9000:
        raise ShareRefused(_("Enter the day the link expires."))
    return timezone.make_aware(datetime.datetime.combine(day, datetime.time.max))


def _page(request: SignedInRequest, conversation: Conversation, refusal: str = "") -> HttpResponse:
    links = [(link, _address(request, link)) for link in conversation.share_links.all()]
    images = Attachment.objects.filter(message__turn__conversation=conversation).exclude(digest="")
    today = timezone.localdate()
    context = {
        "conversation": conversation,
        "links": links,
        "has_images": images.exists(),
        "refusal": refusal,
        "tomorrow": today + datetime.timedelta(days=1),
        "latest": today + datetime.timedelta(days=365),
        "given": request.POST,
    }
    return render(request, "shares.html", context, status=400 if refusal else 200)


def _address(request: SignedInRequest, link: ShareLink) -> str:
    """The absolute URL of a live link, else ""."""
    if not link.is_live or not link.token:
        return ""
    return request.build_absolute_uri(reverse("shared", args=[link.token]))
