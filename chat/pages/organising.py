"""What a person does to one conversation to find it again: from its menu."""

from __future__ import annotations

import uuid

from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from chat.models import BulkAct, TagRefused
from chat.pages.bulk import act_on
from chat.pages.conversation import give_back, own_conversation, refuse
from chat.pages.signed_in import SignedInRequest

OFFERED = {"pin", "unpin", "archive", "bring_back", "tag", "untag"}


@require_POST
def organise(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Do what the pressed button says; one that takes a tag off has its word as `untag`."""
    conversation = own_conversation(request, conversation_id)
    word = request.POST.get("untag", request.POST.get("word", ""))
    kind = "untag" if "untag" in request.POST else request.POST.get("kind", "")
    if kind not in OFFERED:
        raise Http404
    try:
        done = act_on(request, kind, [conversation.pk], word)
    except TagRefused as refusal:
        return refuse(request, conversation, str(refusal))
    if kind == BulkAct.Kind.TAG and not done.count and not conversation.has_tag(word):
        return refuse(request, conversation, _("A conversation can have 20 tags. Remove one first."))
    return give_back(request, conversation)
