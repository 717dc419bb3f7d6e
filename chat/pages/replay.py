"""A conversation that is over, played again."""

from __future__ import annotations

import uuid

from django.http import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_safe

from chat.export.reading import Reading
from chat.export.record import Record
from chat.pages.conversation import own_conversation
from chat.pages.read_only import read_only_page
from chat.pages.signed_in import SignedInRequest


@require_safe
def replay(request: SignedInRequest, conversation_id: uuid.UUID) -> HttpResponseBase:
    """The turns that have ended, with the moment of each row; a script reveals them in order."""
    conversation = own_conversation(request, conversation_id)

    def picture(digest: str) -> str:
        return reverse("picture", args=[conversation.pk, digest])

    back = reverse("conversation", args=[conversation.pk])
    reading = Reading(picture, replays=True)
    return read_only_page(Record.ended(conversation), reading, "reading/replay.html", back=back)
