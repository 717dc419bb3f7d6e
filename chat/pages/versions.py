"""Versions of a turn: run it again, also with another message or model, retry it, show another, delete it."""

from __future__ import annotations

import uuid
from contextlib import suppress
from itertools import chain
from urllib.parse import urlencode

from asgiref.sync import async_to_sync
from django.conf import settings
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from chat.agent.workspace import WorkspaceError
from chat.files.conversation_workspace import delete_in, forget_files_of, missing_for, show_files_of
from chat.files.uploads import UploadRefused
from chat.live.broadcast import notify_workers, publish_path, publish_sidebar, publish_turn_sync
from chat.models import Attachment, Conversation, MessageRefused, Profile, Turn
from chat.models.follow_up import with_present_names, without_names
from chat.pages.attachments import message_of
from chat.pages.audience import audience
from chat.pages.conversation import (
    PLACE,
    action_id_of,
    action_refused,
    action_response,
    dialog_or_page,
    own_conversation,
)
from chat.pages.model_choice import model_groups
from chat.pages.new_conversation import chosen_profile, model_to_use
from chat.pages.signed_in import SignedInRequest
from chat.search.index import index_revision, unindex_turn


@audience("owner")
@require_http_methods(["GET", "HEAD", "POST"])
def run_again(request: SignedInRequest, conversation_id: uuid.UUID, turn_id: int) -> HttpResponse:
    """Answer the turn's message again: as it was, or with the form's text, files, profile and model."""
    conversation = own_conversation(request, conversation_id)
    if request.method != "POST":
        return _form(request, conversation, turn_id)
    client_id = action_id_of(request) or uuid.uuid4()
    return _run_again(request, conversation, turn_id, client_id, as_before=True)


@audience("owner")
@require_POST
def retry(request: SignedInRequest, conversation_id: uuid.UUID, turn_id: int) -> HttpResponse:
    """Answer the message of a turn that failed at once again; otherwise continue from what was done.

    A last turn gets another version, with the user's list; of an earlier one the message is sent again.
    """
    conversation = own_conversation(request, conversation_id)
    turn = get_object_or_404(conversation.turns, pk=turn_id)
    is_last = not conversation.path.filter(pk__gt=turn_id).exists()
    if turn.did_nothing and is_last:
        return _run_again(request, conversation, turn_id, turn.retry_id)
    if turn.can_be_retried:
        files = turn.attachments if turn.did_nothing else []
        text = with_present_names(turn.said, files) if turn.did_nothing else _("Continue where you left off.")
        try:
            profile = turn.profile_to_continue_with if is_last else None
            publish_turn_sync(conversation.start_turn(text, turn.retry_id, files, profile))
        except MessageRefused as refusal:
            return action_refused(request, conversation, str(refusal))
    return action_response(request, conversation)


def _run_again(
    request: SignedInRequest,
    conversation: Conversation,
    turn_id: int,
    client_id: uuid.UUID,
    *,
    as_before: bool = False,
) -> HttpResponse:
    archived = conversation.archived
    uploaded: list[Attachment] = []
    turn = conversation.path.filter(pk=turn_id).prefetch_related("messages__attachments").first()
    found = _found_files(turn) if turn else {}
    text = None
    try:
        profile = _profile(request)
        if "text" in request.POST:
            text, uploaded = message_of(request, conversation, client_id)
            attached = request.POST.getlist("attached")
            found = {key: path for key, path in found.items() if str(key) in attached}
        elif turn and len(found) < len(turn.attachments):
            text = without_names(turn.said, turn.attachments)
        conversation.run_again(turn_id, client_id, text, profile, found, uploaded, as_before=as_before)
    except (MessageRefused, UploadRefused, WorkspaceError) as refusal:
        for file in uploaded:  # the form still has them
            with suppress(WorkspaceError):
                delete_in(conversation, file.path)
        return action_refused(request, conversation, str(refusal))
    async_to_sync(notify_workers)()
    async_to_sync(publish_path)(conversation)
    if archived:
        async_to_sync(publish_sidebar)(conversation.owner_id, "organised")
    return action_response(request, conversation)


def _found_files(turn: Turn) -> dict[int, str]:
    """The paths at which another version of the turn finds its files, by the files' keys.

    A file that the agent had changed when it was renamed has its first name there.
    """
    paths = {file.pk: (file.path, file.path_in_text) for file in turn.attachments}
    missing = missing_for(turn, chain.from_iterable(paths.values())) if paths else set()
    found = {key: [path for path in names if path not in missing] for key, names in paths.items()}
    return {key: names[0] for key, names in found.items() if names}


def _form(request: SignedInRequest, conversation: Conversation, turn_id: int) -> HttpResponse:
    rows = conversation.path.prefetch_related("messages__attachments")
    turn: Turn = get_object_or_404(rows, pk=turn_id)
    found = _found_files(turn)
    for file in turn.attachments:
        file.path = found.get(file.pk, file.path)
    own = turn.profile_of_its_own
    in_use = own or conversation.profile_in_use()
    chosen = own.chosen_model if own else conversation.chosen_model
    context = {
        "conversation": conversation,
        "turn": turn,
        "text": without_names(turn.said, turn.attachments),
        "missing": {file.path for file in turn.attachments if file.pk not in found},
        "most_bytes": settings.MAX_UPLOAD_BYTES,
        "in_use": in_use,
        "profiles": Profile.offered_to(request.user),
        "groups": model_groups(request.user, in_use),
        "chosen": chosen.choice if chosen else "",
    }
    return dialog_or_page(request, "again.html", context)


def _profile(request: SignedInRequest) -> Profile | None:
    """The profile that the form names, with its model; None for what the conversation uses.

    Raises MessageRefused if the model is gone.
    """
    profile, model = chosen_profile(request), model_to_use(request)
    return profile.with_model(model) if profile else None


@audience("owner")
@require_POST
def show_version(request: SignedInRequest, conversation_id: uuid.UUID, turn_id: int) -> HttpResponse:
    """Go on with this version of a turn, and what followed it; leads to the hit or file in it, if any."""
    conversation = own_conversation(request, conversation_id)
    try:
        conversation.show_version(turn_id)
    except MessageRefused as refusal:
        return action_refused(request, conversation, str(refusal))
    show_files_of(conversation)
    async_to_sync(publish_path)(conversation)
    if "HX-Request" in request.headers:
        return HttpResponse(status=204)
    return redirect(_address_in_version(request, conversation, turn_id))


def _address_in_version(request: SignedInRequest, conversation: Conversation, turn_id: int) -> str:
    page = reverse("conversation", args=[conversation.pk])
    if path := request.POST.get("file"):
        return f"{reverse('file', args=[conversation.pk])}?{urlencode({'path': path})}"
    place, find = request.POST.get("place", ""), request.POST.get("find", "")
    if not PLACE.fullmatch(place):
        return f"{page}#turn-{turn_id}"
    query = {"from": place} | ({"find": find} if find else {})
    return f"{page}?{urlencode(query)}#{place}"


@audience("owner")
@require_http_methods(["GET", "HEAD", "POST"])
def delete_turn(request: SignedInRequest, conversation_id: uuid.UUID, turn_id: int) -> HttpResponse:
    """Delete one turn, or one version with what follows it, with its plan's revisions and its calls.

    The form for the only turn offers to delete the conversation, which can be undone.
    """
    conversation = own_conversation(request, conversation_id)
    if request.method != "POST":
        turn = get_object_or_404(conversation.path, pk=turn_id)
        Turn.find_versions([turn])
        following = len(conversation.deleted_with(turn)) - 1
        is_only = not turn.versions and not conversation.path.exclude(pk=turn.pk).exists()
        context = {"conversation": conversation, "turn": turn, "following": following, "is_only": is_only}
        return dialog_or_page(request, "delete_turn.html", context)
    try:
        with transaction.atomic():
            conversation.lock()
            shown = conversation.path.filter(pk=turn_id).first()
            deleted = conversation.deleted_with(shown) if shown else []
            for key in deleted:
                unindex_turn(key, conversation)
            for edit in conversation.delete_turn(turn_id):
                index_revision(edit)
    except MessageRefused as refusal:
        return action_refused(request, conversation, str(refusal))
    show_files_of(conversation)
    forget_files_of(conversation, deleted)
    async_to_sync(publish_path)(conversation)
    return action_response(request, conversation)
