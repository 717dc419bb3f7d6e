"""What a person does about a list that was left unfinished."""

from __future__ import annotations

import uuid

from asgiref.sync import async_to_sync
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from chat.live.announcing import announce_sync, publish_regions, publish_sidebar
from chat.live.unfinished import unfinished_of
from chat.models import MessageRefused
from chat.pages.conversation import give_back, own_conversation, refuse
from chat.pages.signed_in import SignedInRequest


@require_POST
def go_on(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Have the agent take up the open items; nothing where there are none, or it is at work already."""
    conversation = own_conversation(request, conversation_id)
    last = conversation.turns.order_by("pk").last()
    if last and unfinished_of(conversation):
        # The same click twice is one turn: its id follows from the last one.
        client_id = uuid.uuid5(last.client_id, "continue")
        try:
            text = _("Continue with the remaining to-dos.")
            announce_sync(conversation.start_turn(text, client_id))
        except MessageRefused as refusal:
            return refuse(request, conversation, str(refusal))
    return give_back(request, conversation)


@require_POST
def dismiss(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Leave the list as it is: it counts as unfinished no more, until it is written again."""
    conversation = own_conversation(request, conversation_id)
    conversation.dismiss()
    async_to_sync(publish_regions)(conversation.pk, "unfinished")
    async_to_sync(publish_sidebar)(request.user.pk)
    return give_back(request, conversation)
