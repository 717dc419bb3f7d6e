"""The board: the user's running, waiting, unread and unfinished conversations."""

from __future__ import annotations

import uuid

from asgiref.sync import async_to_sync
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from chat.live.board import board_states_of
from chat.live.broadcast import publish_sidebar
from chat.models import Conversation
from chat.pages.audience import audience
from chat.pages.conversation import action_response, own_conversation
from chat.pages.signed_in import SignedInRequest

MAX_KEY = 10**18


@audience("signed_in")
@require_safe
def board(request: SignedInRequest) -> HttpResponse:
    state = board_states_of([request.user.pk])[request.user.pk]
    return render(request, "board.html", {"state": state, "board": state.board})


@audience("owner")
@require_POST
def see(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    conversation = own_conversation(request, conversation_id)
    turn = request.POST.get("turn", "")
    up_to = min(int(turn), MAX_KEY) if turn.isdecimal() and len(turn) < 20 else 0
    if conversation.mark_seen(up_to):
        async_to_sync(publish_sidebar)(request.user.pk)
    return action_response(request, conversation)


@audience("signed_in")
@require_POST
def see_all(request: SignedInRequest) -> HttpResponse:
    Conversation.objects.visible_to(request.user).unseen().update(unseen_turn=None)
    async_to_sync(publish_sidebar)(request.user.pk)
    return HttpResponse(status=204) if "HX-Request" in request.headers else redirect("board")
