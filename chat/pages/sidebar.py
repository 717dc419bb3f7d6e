"""The conversations beside every page."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from chat.models import Conversation

RECENT = 30


def sidebar(request: HttpRequest) -> dict[str, Any]:
    """The newest conversations of the person, asked for only where a page shows them."""

    def recent() -> list[Conversation]:
        return Conversation.objects.visible_to(request.user).listed(0, RECENT)

    return {"sidebar": SimpleLazyObject(recent)}
