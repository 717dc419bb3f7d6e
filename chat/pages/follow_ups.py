"""What a person does with messages that are held."""

from __future__ import annotations

import uuid

from asgiref.sync import async_to_sync
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_POST, require_safe

from chat.live.announcing import announce_sync, publish_regions
from chat.models import FollowUp
from chat.pages.conversation import act_of, give_back, own_conversation
from chat.pages.signed_in import SignedInRequest


@require_POST
def take_back(request: SignedInRequest, conversation_id: uuid.UUID, follow_up_id: int) -> HttpResponse:
    """Return a held message to the composer; one that the agent has read by now stays where it is."""
    conversation = own_conversation(request, conversation_id)
    follow_up = get_object_or_404(conversation.follow_ups, pk=follow_up_id)
    # Asked twice, it is given twice: the first answer may have been lost, and the text with it.
    text = follow_up.text if follow_up.take_back(act_of(request)) else ""
    async_to_sync(publish_regions)(conversation.pk, "follow_ups")
    return give_back(request, conversation, text)


@require_safe
def taken_back(request: SignedInRequest, conversation_id: uuid.UUID, act: uuid.UUID) -> HttpResponse:
    """What the request `act` took back, for a page that never got the answer."""
    conversation = own_conversation(request, conversation_id)
    text = FollowUp.text_taken_by(conversation.pk, act)
    return HttpResponse(text, content_type="text/plain", status=200 if text else 204)


@require_POST
def send(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Start a turn with what is held."""
    conversation = own_conversation(request, conversation_id)
    if turn := conversation.send_held():
        announce_sync(turn)
    return give_back(request, conversation)
