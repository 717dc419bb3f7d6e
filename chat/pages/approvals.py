"""The person's answer to a call that waits."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_POST

from chat.live.announcing import announce_sync
from chat.models import DecisionRefused, ToolCall, Turn
from chat.pages.conversation import give_back, own_conversation, refuse
from chat.pages.signed_in import SignedInRequest


@require_POST
def decide(request: SignedInRequest, conversation_id: uuid.UUID, tool_call_id: int) -> HttpResponse:
    """Allow the call once or in this conversation, or deny it; who comes second is told what was decided."""
    conversation = own_conversation(request, conversation_id)
    call = get_object_or_404(
        ToolCall.objects.select_related("turn__conversation"),
        pk=tool_call_id,
        turn__conversation=conversation,
    )
    try:
        # On the board several calls may be asked about, so that each of them has a field of its own.
        reason = request.POST.get(f"reason-{call.pk}", request.POST.get("reason", ""))
        call.decide(request.POST.get("decision", ""), reason)
    except DecisionRefused as refusal:
        return refuse(request, conversation, str(refusal))
    announce_sync(Turn.objects.get(pk=call.turn_id))
    return give_back(request, conversation)
