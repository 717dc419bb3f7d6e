"""Exports of a conversation as JSON, Markdown or one HTML page, and its replay."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from django.http import HttpResponseBase, StreamingHttpResponse
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from chat.export.json_file import json_pieces
from chat.export.markdown_file import markdown_pieces
from chat.export.page import ReadOnly, html_pieces
from chat.export.record import Record
from chat.files.names import safe_name
from chat.files.tree import address
from chat.models import Conversation, Preferences
from chat.pages.audience import audience
from chat.pages.conversation import own_conversation
from chat.pages.files import SANDBOXED
from chat.pages.read_only import read_only_page
from chat.pages.signed_in import SignedInRequest
from chat.pages.streaming import RowsStream


@audience("owner")
@require_safe
def export_json(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponseBase:
    conversation = own_conversation(request, conversation_id)
    return _file(conversation, json_pieces(conversation), "json", "application/json")


@audience("owner")
@require_safe
def export_markdown(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponseBase:
    conversation = own_conversation(request, conversation_id)
    return _file(conversation, markdown_pieces(conversation), "md", "text/markdown")


@audience("owner")
@require_safe
def export_html(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponseBase:
    conversation = own_conversation(request, conversation_id)
    return _file(conversation, html_pieces(conversation), "html", "text/html")


def _file(
    conversation: Conversation, pieces: Iterator[str], extension: str, media_type: str
) -> HttpResponseBase:
    name = f"{safe_name(conversation.title)[:60].strip()}.{extension}"
    headers = {
        "Content-Disposition": content_disposition_header(True, name) or "attachment",
        "Content-Security-Policy": SANDBOXED,
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-store",
    }
    return StreamingHttpResponse(
        RowsStream(pieces), content_type=f"{media_type}; charset=utf-8", headers=headers
    )


@dataclass(frozen=True)
class OwnFiles:
    """The URLs of the conversation's files."""

    conversation_id: uuid.UUID

    def file(self, path: str) -> str:
        return reverse("file", args=[self.conversation_id]) + address(path)

    def picture(self, path: str) -> str:
        return reverse("image", args=[self.conversation_id]) + address(path)


@audience("owner")
@require_safe
def replay(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponseBase:
    """The ended turns with the time of each row; a script reveals them in order."""
    conversation = own_conversation(request, conversation_id)

    def picture(digest: str) -> str:
        return reverse("picture", args=[conversation.pk, digest])

    back = reverse("conversation", args=[conversation.pk])
    read_only = ReadOnly(picture, OwnFiles(conversation.pk), replays=True)
    theme = Preferences.of(request.user).theme
    record = Record.ended(conversation)
    return read_only_page(record, read_only, "reading/replay.html", back=back, theme=theme)
