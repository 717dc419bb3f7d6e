"""One conversation: its page, and what a person does to it there."""

from __future__ import annotations

import re
import uuid
from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.db.models import Count
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from chat.agent.workspace import WorkspaceError
from chat.files.uploads import MOST_FILES, UploadRefused
from chat.live.broadcast import announce_sync, publish_heading, publish_regions, publish_sidebar, ring_stop
from chat.live.regions import state_of, unfinished_of
from chat.models import (
    BulkAct,
    Conversation,
    DecisionRefused,
    FollowUp,
    Message,
    MessageRefused,
    Summary,
    TagRefused,
    ToolCall,
    Turn,
)
from chat.models.profile import answers_by_script
from chat.pages.attachments import message_of
from chat.pages.bulk import act_on
from chat.pages.new_conversation import chosen_profile, client_id_of
from chat.pages.signed_in import SignedInRequest
from chat.search.index import index_title
from chat.turns.agents import Shell

MAX_TURNS = 20  # at a time
MAX_CALLS = 40  # tool calls at a time; with some of their output, these are about 3,000 elements

_PLACE = re.compile(r"(turn|message|tool-call|summary)-(\d{1,18})\b")
_ROWS = {"message": Message, "tool-call": ToolCall, "summary": Summary}


@require_safe
def show(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """The conversation: live while a turn runs, the record afterwards; the same HTML."""
    return page(request, own_conversation(request, conversation_id))


@require_safe
def earlier_turns(request: SignedInRequest, conversation_id: uuid.UUID, turn_id: int) -> HttpResponse:
    """The turns right before that one, to be put ahead of it."""
    conversation = own_conversation(request, conversation_id)
    context = recent_turns(conversation, before=turn_id)
    return render(request, "partials/_turns.html", {"conversation": conversation, **context})


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
    with transaction.atomic():
        conversation.rename(request.POST.get("title", ""))
        index_title(conversation)
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
    context = {
        "conversation": conversation,
        "state": state,
        **recent_turns(conversation, first=turn_with(conversation, request.GET.get("from", ""))),
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


def recent_turns(
    conversation: Conversation, *, before: int | None = None, first: int | None = None
) -> dict[str, Any]:
    """The latest turns, or the latest `before` a turn, oldest first: as many as a page shows at once.

    With `first`, all from that turn on. `has_earlier` says whether there are more.
    """
    turns = Turn.objects.filter(conversation=conversation)
    if before is not None:
        turns = turns.filter(pk__lt=before)
    newest = list(turns.order_by("-pk").values_list("pk", flat=True)[: MAX_TURNS + 1])
    begin = _first_of(newest) if first is None else first
    drawn = Turn.with_rows().filter(conversation=conversation, pk__gte=begin)
    if before is not None:
        drawn = drawn.filter(pk__lt=before)
    is_whole = bool(newest) and len(newest) <= MAX_TURNS and begin <= newest[-1]
    has_earlier = bool(newest) and not is_whole and turns.filter(pk__lt=begin).exists()
    return {"turns": list(drawn), "has_earlier": has_earlier}


def _first_of(newest: list[int]) -> int:
    """The oldest of these turns, newest first, that is shown with those after it."""
    counted = ToolCall.objects.filter(turn__in=newest).order_by().values_list("turn").annotate(Count("pk"))
    calls = dict(counted) if newest else {}
    first, total = 0, 0
    for turn in newest[:MAX_TURNS]:
        total += calls.get(turn, 0)
        if first and total > MAX_CALLS:
            break
        first = turn
    return first


def turn_with(conversation: Conversation, place: str) -> int | None:
    """The turn that has the element with that id, such as `message-12`; None if the conversation has none.

    For "all" it is 0, which is before the first.
    """
    if place == "all":
        return 0
    match = _PLACE.fullmatch(place)
    if match is None:
        return None
    kind, key = match[1], int(match[2])
    if kind == "turn":
        return conversation.turns.filter(pk=key).values_list("pk", flat=True).first()
    rows = _ROWS[kind]._default_manager.filter(pk=key, turn__conversation=conversation)
    turn: int | None = rows.values_list("turn", flat=True).first()
    return turn


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


@require_POST
def choose_profile(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Let another profile answer: from the next turn on, as one that has begun keeps what it began with."""
    conversation = own_conversation(request, conversation_id)
    profile = chosen_profile(request)
    if profile is None:
        return refuse(request, conversation, _("This profile no longer exists. Choose another one."))
    conversation.choose(profile)
    async_to_sync(publish_heading)(conversation)
    return give_back(request, conversation)


@require_POST
def take_back_follow_up(
    request: SignedInRequest, conversation_id: uuid.UUID, follow_up_id: int
) -> HttpResponse:
    """Return a held message to the composer; one that the agent has read by now stays where it is."""
    conversation = own_conversation(request, conversation_id)
    follow_up = get_object_or_404(conversation.follow_ups, pk=follow_up_id)
    # Asked twice, it is given twice: the first answer may have been lost, and the text with it.
    text = follow_up.text if follow_up.take_back(act_of(request)) else ""
    async_to_sync(publish_regions)(conversation.pk, "follow_ups")
    return give_back(request, conversation, text)


@require_safe
def taken_back_follow_up(
    request: SignedInRequest, conversation_id: uuid.UUID, act: uuid.UUID
) -> HttpResponse:
    """What the request `act` took back, for a page that never got the answer."""
    conversation = own_conversation(request, conversation_id)
    text = FollowUp.text_taken_by(conversation.pk, act)
    return HttpResponse(text, content_type="text/plain", status=200 if text else 204)


@require_POST
def send_follow_ups(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Start a turn with what is held."""
    conversation = own_conversation(request, conversation_id)
    if turn := conversation.send_held():
        announce_sync(turn)
    return give_back(request, conversation)


@require_POST
def resume_plan(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
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
def dismiss_plan(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Leave the list as it is: it counts as unfinished no more, until it is written again."""
    conversation = own_conversation(request, conversation_id)
    conversation.dismiss()
    async_to_sync(publish_regions)(conversation.pk, "unfinished")
    async_to_sync(publish_sidebar)(request.user.pk)
    return give_back(request, conversation)


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
