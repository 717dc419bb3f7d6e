"""Exports of a conversation as JSON, Markdown or one HTML page, and its replay."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponseBase, StreamingHttpResponse
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from chat.agent.workspace import Workspace
from chat.export.page import ReadOnly
from chat.export.record import Record
from chat.export.zip_file import FORMATS, file_name, zip_pieces
from chat.files.conversation_workspace import workspace_of
from chat.files.tree import address
from chat.models import Conversation, Preferences
from chat.pages.audience import audience
from chat.pages.bulk import back_to_list, selected_keys
from chat.pages.conversation import own_conversation
from chat.pages.files import SANDBOXED
from chat.pages.read_only import read_only_page
from chat.pages.signed_in import SignedInRequest
from chat.pages.streaming import RowsStream

MEDIA_TYPES = {"html": "text/html", "md": "text/markdown", "json": "application/json"}


@audience("owner")
@require_safe
def export_json(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponseBase:
    conversation = own_conversation(request, conversation_id)
    return _file(conversation, "json")


@audience("owner")
@require_safe
def export_markdown(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponseBase:
    conversation = own_conversation(request, conversation_id)
    return _file(conversation, "md")


@audience("owner")
@require_safe
def export_html(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponseBase:
    conversation = own_conversation(request, conversation_id)
    return _file(conversation, "html")


@audience("signed_in")
@require_POST
def export_several(request: SignedInRequest) -> HttpResponseBase:
    """The conversations chosen in the list, as a zip file of the format that the button names."""
    extension = request.POST.get("format", "")
    keys = selected_keys(request)
    if extension not in FORMATS:
        raise Http404
    if not keys:
        messages.info(request, _("Select conversations first."))
        return back_to_list(request)
    found = (Conversation.objects.visible_to(request.user).filter(pk=key).first() for key in keys)
    pieces = zip_pieces(filter(None, found), extension)
    return _download(pieces, _("Conversations") + ".zip", "application/zip")


def _file(conversation: Conversation, extension: str) -> HttpResponseBase:
    pieces = FORMATS[extension](conversation)
    media_type = f"{MEDIA_TYPES[extension]}; charset=utf-8"
    return _download(pieces, file_name(conversation, extension), media_type)


def _download(pieces: Iterator[Any], name: str, media_type: str) -> HttpResponseBase:
    headers = {
        "Content-Disposition": content_disposition_header(True, name) or "attachment",
        "Content-Security-Policy": SANDBOXED,
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-store",
    }
    return StreamingHttpResponse(RowsStream(pieces), content_type=media_type, headers=headers)


@dataclass(frozen=True)
class OwnFiles:
    """The URLs of the conversation's files."""

    conversation_id: uuid.UUID
    workspace: Workspace

    def file(self, path: str) -> str:
        if not self.workspace.has_file(path):
            return ""
        return reverse("file", args=[self.conversation_id]) + address(path)

    def picture(self, path: str) -> str:
        return reverse("file_image", args=[self.conversation_id]) + address(path)


@audience("owner")
@require_safe
def replay(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponseBase:
    """The ended turns with the time of each row; a script reveals them in order."""
    conversation = own_conversation(request, conversation_id)

    def picture(digest: str) -> str:
        return reverse("picture", args=[conversation.pk, digest])

    back = reverse("conversation", args=[conversation.pk])
    read_only = ReadOnly(picture, OwnFiles(conversation.pk, workspace_of(conversation)), replays=True)
    theme = Preferences.of(request.user).theme
    record = Record.ended(conversation)
    return read_only_page(record, read_only, "reading/replay.html", back=back, theme=theme)
