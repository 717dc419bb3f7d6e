"""The choice of another profile in a conversation."""

from __future__ import annotations

import uuid

from asgiref.sync import async_to_sync
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from chat.live.announcing import publish_heading
from chat.pages.conversation import give_back, own_conversation, refuse
from chat.pages.new_conversation import chosen_profile
from chat.pages.signed_in import SignedInRequest


@require_POST
def choose(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Let another profile answer: from the next turn on, as one that has begun keeps what it began with."""
    conversation = own_conversation(request, conversation_id)
    profile = chosen_profile(request)
    if profile is None:
        return refuse(request, conversation, _("This profile no longer exists. Choose another one."))
    conversation.choose(profile)
    async_to_sync(publish_heading)(conversation)
    return give_back(request, conversation)
