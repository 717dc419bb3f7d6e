"""One conversation: its page, and what a person does to it there."""

from __future__ import annotations

import uuid
from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from chat.agent.workspace import WorkspaceError
from chat.files.uploads import MOST_FILES, UploadRefused
from chat.live.announcing import announce_sync, publish_heading, publish_regions, publish_sidebar
from chat.live.doorbell import ring_stop
from chat.live.regions import state_of
from chat.models import BulkAct, Conversation, FollowUp, MessageRefused, Turn
from chat.models.profile import answers_by_script
from chat.pages.attachments import message_of
from chat.pages.bulk import act_on
from chat.pages.new_conversation import client_id_of
from chat.pages.signed_in import SignedInRequest
from chat.turns.agents import Shell


@require_safe
def show(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """The conversation: live while a turn runs, the record afterwards; the same HTML."""
    return page(request, own_conversation(request, conversation_id))


@require_POST
def send(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """The composer's post where the socket does not carry it."""
    conversation = own_conversation(request, conversation_id)
    try:
        client_id = client_id_of(request)
        text, attached = message_of(request, conversation, client_id)
        archived = conversation.archived
        taken = conversation.send(text, client_id, attached)
    except (MessageRefused, UploadRefused, WorkspaceError) as refusal:
        return _refused(request, conversation, str(refusal))
    if archived:
        async_to_sync(publish_sidebar)(conversation.owner_id, "organised")
    if isinstance(taken, FollowUp):
        async_to_sync(publish_regions)(conversation.pk, "follow_ups")
    else:
        announce_sync(taken)
    return give_back(request, conversation)


@require_POST
def stop(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Stop what runs, from whichever tab; `then=send` sends what is held, else the composer gets it back."""
    conversation = own_conversation(request, conversation_id)
    then_send = request.POST.get("then") == "send"
    turn, text = conversation.stop(then_send=then_send, by=act_of(request))
    if turn:
        async_to_sync(ring_stop)(turn.pk)
        _announce_stopped(turn)
    elif then_send and (following := conversation.send_held()):
        announce_sync(following)
    elif text:
        async_to_sync(publish_regions)(conversation.pk, "follow_ups")
    return give_back(request, conversation, text)


@require_POST
def retry(request: SignedInRequest, conversation_id: uuid.UUID, turn_id: int) -> HttpResponse:
    """Send a message again whose turn failed, or go on after one that was interrupted."""
    conversation = own_conversation(request, conversation_id)
    failed = get_object_or_404(Turn.with_rows(), pk=turn_id, conversation=conversation)
    if failed.can_be_retried:
        # The same click twice is one retry: its id follows from the turn.
        client_id = uuid.uuid5(failed.client_id, "retry")
        try:
            was_failed = failed.status == Turn.Status.FAILED
            text = failed.user_text if was_failed else _("Continue where you left off.")
            announce_sync(conversation.start_turn(text, client_id, retries=failed))
        except MessageRefused as refusal:
            return refuse(request, conversation, str(refusal))
    return give_back(request, conversation)


@require_POST
def rename(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Give it another title."""
    conversation = own_conversation(request, conversation_id)
    conversation.rename(request.POST.get("title", ""))
    async_to_sync(publish_heading)(conversation)
    return redirect("conversation", conversation.pk)


@require_POST
def delete(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Delete it, which can be undone for a while in the list; what runs is stopped at once."""
    conversation = own_conversation(request, conversation_id)
    act_on(request, BulkAct.Kind.DELETE, [conversation.pk])
    return redirect("conversations")


def own_conversation(request: SignedInRequest, conversation_id: uuid.UUID) -> Conversation:
    """The conversation, for its owner; Http404 for everybody else."""
    visible = Conversation.objects.visible_to(request.user).select_related("profile", "owner")
    return get_object_or_404(visible, pk=conversation_id)


def _refused(request: SignedInRequest, conversation: Conversation, sentence: str) -> HttpResponse:
    """Why a message was not taken: for the page's script the sentence alone, else on the page."""
    if "HX-Request" in request.headers:
        return HttpResponse(sentence, content_type="text/plain", status=400)
    return page(request, conversation, refusal=sentence, text=request.POST.get("text", ""))


def _announce_stopped(turn: Turn) -> None:
    """Show what is no longer held, and a turn that had not begun, with the one that starts instead."""
    turn.refresh_from_db()
    async_to_sync(publish_regions)(turn.conversation_id, "follow_ups")
    if not turn.is_active:
        announce_sync(turn)
        for following in turn.followed_by.filter(status=Turn.Status.QUEUED):
            announce_sync(following)


def act_of(request: SignedInRequest) -> uuid.UUID | None:
    """The name that the page's script gave its request, to ask once more for an answer that is lost."""
    try:
        return uuid.UUID(request.POST["act"])
    except (KeyError, ValueError):
        return None


def give_back(request: SignedInRequest, conversation: Conversation, text: str = "") -> HttpResponse:
    """The answer to an action: where the person acted, with a text for the composer if there is one.

    The page's script asks with `HX-Request`; it gets the text alone and puts it there itself.
    """
    if "HX-Request" in request.headers:
        return HttpResponse(text, content_type="text/plain", status=200 if text else 204)
    if _is_from_board(request):
        return redirect("board")
    return page(request, conversation, text=text) if text else redirect("conversation", conversation.pk)


def refuse(request: SignedInRequest, conversation: Conversation, sentence: str) -> HttpResponse:
    """Why an action changed nothing: for the page's script the sentence alone, else on the page."""
    if "HX-Request" in request.headers:
        return HttpResponse(sentence, content_type="text/plain", status=409)
    if _is_from_board(request):
        messages.error(request, sentence)
        return redirect("board")
    return page(request, conversation, refusal=sentence)


def _is_from_board(request: SignedInRequest) -> bool:
    """Whether the person acted on the board, and so is to be there again."""
    return request.POST.get("back") == "board"


def page(
    request: SignedInRequest, conversation: Conversation, refusal: str = "", text: str = "", **more: Any
) -> HttpResponse:
    """The conversation, with a text for its composer, why something was refused, and `more` to show."""
    state = state_of(conversation)  # before the rows, so that they are as new as the page says at least
    turns = list(Turn.with_rows().filter(conversation=conversation))
    ended = [turn.pk for turn in turns if not turn.is_active]
    context = {
        "conversation": conversation,
        "state": state,
        "turns": turns,
        "after": max(ended, default=0),
        "shell_problem": Shell.problem,
        "demo": answers_by_script(conversation.profile),
        "client_id": uuid.uuid4(),
        "most_files": MOST_FILES,
        "most_bytes": settings.MAX_UPLOAD_BYTES,
        "refusal": refusal,
        "text": text,
    }
    status_code = more.pop("status_code", 400 if refusal else 200)
    return render(request, "conversation.html", context | more, status=status_code)
