"""One conversation: its page, and the user's actions on it."""

from __future__ import annotations

import json
import re
import uuid
from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.utils.functional import SimpleLazyObject
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from chat.agent import pictures
from chat.agent.workspace import WorkspaceError
from chat.files.uploads import MAX_FILES, UploadRefused
from chat.live.broadcast import (
    notify_stop,
    publish_heading,
    publish_regions,
    publish_sidebar,
    publish_turn_sync,
)
from chat.live.regions import ENDED_WELL, attention_on, recent_turns, state_of
from chat.models import (
    Attachment,
    BulkAct,
    Connection,
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
from chat.models.follow_up import named_in, names_in, own_words, without_names
from chat.pages.attachments import message_of
from chat.pages.audience import audience
from chat.pages.bulk import act_on
from chat.pages.new_conversation import chosen_profile, client_id_of
from chat.pages.page_or_part import page_or_part
from chat.pages.settings.connections import connect_url
from chat.pages.signed_in import SignedInRequest
from chat.search.index import index_title
from chat.turns.agents import Shell

PLACE = re.compile(r"(turn|message|tool-call|summary)-(\d{1,18})\b")
_ROWS = {"message": Message, "tool-call": ToolCall, "summary": Summary}


@audience("owner")
@require_safe
def show(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    deleted = Conversation.with_deleted.filter(
        pk=conversation_id, owner=request.user, deleted_at__isnull=False
    ).first()
    if deleted:
        context = {"conversation": deleted, "act": BulkAct.that_deleted(deleted)}
        return render(request, "deleted.html", context, status=404)
    return page(request, own_conversation(request, conversation_id))


@audience("owner")
@require_safe
def earlier_turns(request: SignedInRequest, conversation_id: uuid.UUID, turn_id: int) -> HttpResponse:
    """The turns right before that one, to be put ahead of it: from a place on, or as many as usual."""
    conversation = own_conversation(request, conversation_id)
    first = turn_with(conversation, request.GET.get("from", ""))
    if first is not None and first >= turn_id:
        first = None
    context = recent_turns(conversation, before=turn_id, first=first)
    return render(request, "partials/_turns.html", {"conversation": conversation, **context})


@audience("owner")
@require_POST
def send(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    conversation = own_conversation(request, conversation_id)
    try:
        client_id = client_id_of(request)
        text, attached = message_of(request, conversation, client_id)
        archived = conversation.archived
        sent = conversation.send(text, client_id, attached)
    except (MessageRefused, UploadRefused, WorkspaceError) as refusal:
        return _message_refused(request, conversation, str(refusal))
    if archived:
        async_to_sync(publish_sidebar)(conversation.owner_id, "organised")
    if isinstance(sent, FollowUp):
        async_to_sync(publish_regions)(conversation.pk, "follow_ups")
    else:
        publish_turn_sync(sent)
    return action_response(request, conversation)


@audience("owner")
@require_safe
def message_text(request: SignedInRequest, conversation_id: uuid.UUID, message_id: int) -> HttpResponse:
    """A message as it was written, to be copied; a user's without the names of its files."""
    conversation = own_conversation(request, conversation_id)
    message = get_object_or_404(Message, pk=message_id, turn__conversation=conversation)
    headers = {"Cache-Control": "private, no-store"}
    text = (message.role == Message.Role.USER and own_words(message)) or message.text
    return HttpResponse(text, content_type="text/plain; charset=utf-8", headers=headers)


@audience("owner")
@require_POST
def stop(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Stop the turn. `then=send` sends the held messages; otherwise they go back to the composer."""
    conversation = own_conversation(request, conversation_id)
    then_send = request.POST.get("then") == "send"
    turn, text = conversation.stop(then_send=then_send, by=action_id_of(request))
    if turn:
        async_to_sync(notify_stop)(turn.pk)
        _announce_stopped(turn)
    elif then_send and (next_turn := conversation.send_held()):
        publish_turn_sync(next_turn)
    elif text:
        async_to_sync(publish_regions)(conversation.pk, "follow_ups")
    return action_response(request, conversation, text)


@audience("owner")
@require_POST
def rename(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    conversation = own_conversation(request, conversation_id)
    with transaction.atomic():
        conversation.rename(request.POST.get("title", ""))
        index_title(conversation)
    async_to_sync(publish_heading)(conversation)
    return action_response(request, conversation)


@audience("owner")
@require_POST
def delete(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    conversation = own_conversation(request, conversation_id)
    act = act_on(request, BulkAct.Kind.DELETE, [conversation.pk])
    if "HX-Request" in request.headers:
        return render(request, "partials/_undo_note.html", {"undoable": act})
    return redirect("conversations")


def own_conversation(request: SignedInRequest, conversation_id: uuid.UUID) -> Conversation:
    """The user's conversation; raises Http404 for any other."""
    visible = Conversation.objects.visible_to(request.user).with_live_links()
    related = visible.select_related("profile", "model__connection", "owner")
    return get_object_or_404(related, pk=conversation_id)


def _message_refused(request: SignedInRequest, conversation: Conversation, sentence: str) -> HttpResponse:
    if "HX-Request" in request.headers:
        return HttpResponse(sentence, content_type="text/plain", status=400)
    return page(request, conversation, refusal=sentence, text=request.POST.get("text", ""))


def _announce_stopped(turn: Turn) -> None:
    turn.refresh_from_db()
    async_to_sync(publish_regions)(turn.conversation_id, "follow_ups")
    if not turn.is_active:
        publish_turn_sync(turn)
        for next_turn in turn.followed_by.filter(status=Turn.Status.QUEUED):
            publish_turn_sync(next_turn)


def action_id_of(request: SignedInRequest) -> uuid.UUID | None:
    """The id that the page's script gave to the request, to ask again for a lost response."""
    try:
        return uuid.UUID(request.POST["act"])
    except (KeyError, ValueError):
        return None


def action_response(request: SignedInRequest, conversation: Conversation, text: str = "") -> HttpResponse:
    """Respond to an action, with a text for the composer if there is one.

    A script (`HX-Request`) gets the text alone, as `_given_back` does; otherwise redirects to the page on
    which the user acted.
    """
    if "HX-Request" in request.headers:
        return _given_back(conversation, text, action_id_of(request))
    if _is_from_board(request):
        return redirect("board")
    return page(request, conversation, text=text) if text else redirect("conversation", conversation.pk)


def action_refused(request: SignedInRequest, conversation: Conversation, sentence: str) -> HttpResponse:
    """Respond to an action that changed nothing: the sentence alone for the script, else on the page.

    On the board, which shows many conversations, a link to this one goes before it.
    """
    is_scripted = "HX-Request" in request.headers
    if _is_from_board(request):
        address = reverse("conversation", args=[conversation.pk])
        link = format_html('<a href="{}" dir="auto">{}</a>', address, conversation.title)
        named = format_html("{}{}{}", link, _(": "), sentence)
        if is_scripted:
            return HttpResponse(named, status=409)
        messages.error(request, named)
        return redirect("board")
    if is_scripted:
        return HttpResponse(sentence, content_type="text/plain", status=409)
    return page(request, conversation, refusal=sentence)


def _is_from_board(request: SignedInRequest) -> bool:
    return request.POST.get("back") == "board"


def page(
    request: SignedInRequest, conversation: Conversation, refusal: str = "", text: str = "", **more: Any
) -> HttpResponse:
    first = turn_with(conversation, request.GET.get("from", ""))
    # The state is read first, so that the rows are at least as new.
    state, shown = state_of(conversation), recent_turns(conversation, first=first)
    if state.is_active and not any(turn.is_active for turn in shown["turns"]):  # it has ended in between
        state, shown = state_of(conversation), recent_turns(conversation, first=first)
    context = {
        "conversation": conversation,
        "state": state,
        "attention": attention_on(state),
        "sidebar": SimpleLazyObject(lambda: state.owner.rows),
        **shown,
        "shell_problem": Shell.problem,
        "connect_url": connect_url(request.user),
        "connections": Connection.offered_to(request.user),
        "demo": conversation.is_scripted,
        "client_id": uuid.uuid4(),
        "most_files": MAX_FILES,
        "most_bytes": settings.MAX_UPLOAD_BYTES,
        "most_picture_bytes": pictures.MAX_BYTES,
        "elsewhere": _version_elsewhere(conversation, request.GET.get("version", "")),
        "place": request.GET.get("from", ""),
        "find": request.GET.get("find", ""),
        "refusal": refusal,
        "text": text,
    }
    status_code = more.pop("status_code", 400 if refusal else 200)
    response = render(request, "conversation.html", context | more, status=status_code)
    if context["elsewhere"]:  # no longer true once its version is shown and the user comes back
        add_never_cache_headers(response)
    return response


def _version_elsewhere(conversation: Conversation, key: str) -> int | None:
    """The turn with that key, if it is on another path than the one shown."""
    if not re.fullmatch(r"\d{1,18}", key):
        return None
    return conversation.turns.filter(pk=key, on_path=False).values_list("pk", flat=True).first()


def turn_with(conversation: Conversation, place: str) -> int | None:
    """The turn that has the element with that id, such as `message-12`; None if the conversation has none.

    For "all" it is 0, which is before the first.
    """
    if place == "all":
        return 0
    match = PLACE.fullmatch(place)
    if match is None:
        return None
    kind, key = match[1], int(match[2])
    if kind == "turn":
        return conversation.path.filter(pk=key).values_list("pk", flat=True).first()
    rows = _ROWS[kind]._default_manager.filter(pk=key, turn__conversation=conversation, turn__on_path=True)
    turn: int | None = rows.values_list("turn", flat=True).first()
    return turn


ORGANISE_KINDS = {"pin", "unpin", "archive", "bring_back", "tag", "untag"}


@audience("owner")
@require_POST
def organise(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Pin, archive or tag; the button that removes a tag sends the tag as `untag`."""
    conversation = own_conversation(request, conversation_id)
    word = request.POST.get("untag", request.POST.get("word", ""))
    kind = "untag" if "untag" in request.POST else request.POST.get("kind", "")
    if kind not in ORGANISE_KINDS:
        raise Http404
    try:
        act = act_on(request, kind, [conversation.pk], word)
    except TagRefused as refusal:
        return action_refused(request, conversation, str(refusal))
    if kind == BulkAct.Kind.TAG and not act.count and not conversation.has_tag(word):
        return action_refused(request, conversation, _("A conversation can have 20 tags. Remove one first."))
    if act.count and "HX-Request" in request.headers:
        return render(request, "partials/_undo_note.html", {"undoable": act})
    return action_response(request, conversation)


@audience("owner")
@require_POST
def choose_profile(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Set the profile, which takes effect with the next turn."""
    conversation = own_conversation(request, conversation_id)
    profile = chosen_profile(request)
    if profile is None:
        return action_refused(request, conversation, _("This profile no longer exists. Choose another one."))
    conversation.choose(profile)
    async_to_sync(publish_heading)(conversation)
    return action_response(request, conversation)


@audience("owner")
@require_POST
def take_back_follow_up(
    request: SignedInRequest, conversation_id: uuid.UUID, follow_up_id: int
) -> HttpResponse:
    conversation = own_conversation(request, conversation_id)
    follow_up = get_object_or_404(conversation.follow_ups, pk=follow_up_id)
    # Idempotent: a repeated request returns the text again.
    text = follow_up.text if follow_up.take_back(action_id_of(request)) else ""
    async_to_sync(publish_regions)(conversation.pk, "follow_ups")
    return action_response(request, conversation, text)


@audience("owner")
@require_safe
def taken_back_follow_up(
    request: SignedInRequest, conversation_id: uuid.UUID, act: uuid.UUID
) -> HttpResponse:
    """The text that request `act` took back, for a page that did not get the response."""
    conversation = own_conversation(request, conversation_id)
    return _given_back(conversation, FollowUp.text_taken_by(conversation.pk, act), act)


def _given_back(conversation: Conversation, text: str, act: uuid.UUID | None) -> HttpResponse:
    """The text that request `act` took back, for the composer.

    The lines that name attached files are in the header `Attached`, each with the file's name, address and
    media type.
    """
    attached = list(Attachment.taken_by(conversation.pk, act)) if act and named_in(text) else []
    words = without_names(text, attached)
    answer = HttpResponse(words, content_type="text/plain", status=200 if text else 204)
    if attached:
        answer["Attached"] = json.dumps([_attached(conversation, each, text) for each in attached])
    return answer


def _attached(conversation: Conversation, file: Attachment, text: str) -> dict[str, str]:
    address = reverse("file_download", args=[conversation.pk], query={"path": file.path})
    line = next(iter(names_in(text, [file])), "")
    return {"line": line, "name": file.name, "address": address, "type": file.media_type}


@audience("owner")
@require_POST
def send_follow_ups(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    conversation = own_conversation(request, conversation_id)
    if turn := conversation.send_held():
        publish_turn_sync(turn)
    return action_response(request, conversation)


@audience("owner")
@require_POST
def resume_plan(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """Start a turn on the open items, also of a dismissed plan, if there are any and no turn is active."""
    conversation = own_conversation(request, conversation_id)
    last = conversation.path.order_by("pk").last()
    revision = conversation.revision()
    is_unfinished = revision is not None and revision.done < revision.total
    is_dismissed = revision is not None and revision.dismissed
    if last and is_unfinished and (last.status in ENDED_WELL or (is_dismissed and not last.is_active)):
        try:
            text = _("Continue with the remaining to-dos.")
            profile = last.profile_to_continue_with
            publish_turn_sync(conversation.start_turn(text, last.continue_id, profile=profile))
        except MessageRefused as refusal:
            return action_refused(request, conversation, str(refusal))
    return action_response(request, conversation)


@audience("owner")
@require_POST
def dismiss_plan(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    conversation = own_conversation(request, conversation_id)
    act = act_on(request, BulkAct.Kind.DISMISS, [conversation.pk])
    if act.count and "HX-Request" in request.headers:
        return render(request, "partials/_undo_note.html", {"undoable": act})
    return action_response(request, conversation)


@audience("owner")
@require_POST
def decide(request: SignedInRequest, conversation_id: uuid.UUID, tool_call_id: int) -> HttpResponse:
    """Allow or deny a tool call; a later decision is refused with the one that was made."""
    conversation = own_conversation(request, conversation_id)
    call = get_object_or_404(
        ToolCall.objects.select_related("turn__conversation"),
        pk=tool_call_id,
        turn__conversation=conversation,
    )
    try:
        # The board may show several calls, each with its own field.
        reason = request.POST.get(f"reason-{call.pk}", request.POST.get("reason", ""))
        call.decide(request.POST.get("decision", ""), reason)
    except DecisionRefused as refusal:
        return action_refused(request, conversation, str(refusal))
    publish_turn_sync(Turn.objects.get(pk=call.turn_id))
    return action_response(request, conversation)


@audience("owner")
@require_http_methods(["GET", "HEAD", "POST"])
def allowances(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponse:
    """What was allowed in the conversation; the one with the key `withdraw` asks each time again."""
    conversation = own_conversation(request, conversation_id)
    withdrawn = request.POST.get("withdraw", "")
    if withdrawn.isdecimal() and len(withdrawn) < 20:
        conversation.allowances.filter(pk=int(withdrawn)).delete()
    if request.method == "POST" and "HX-Request" not in request.headers:
        return redirect("allowances", conversation.pk)
    context = {"conversation": conversation, "allowances": conversation.allowances.all()}
    return dialog_or_page(request, "allowances.html", context)


def dialog_or_page(request: SignedInRequest, name: str, context: dict[str, Any]) -> HttpResponse:
    """The template for the dialog of the conversation's page, or as a page of its own."""
    context = {**context, "in_dialog": "HX-Request" in request.headers}
    return page_or_part(request, name, f"partials/_{name}", context)
