"""The conversations beside every page."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from chat.live.attention import Attention, attention_of
from chat.models import Conversation

RECENT = 30


def sidebar(request: HttpRequest) -> dict[str, Any]:
    """The newest conversations of the person, and what wants attention; looked up only where shown."""

    def recent() -> list[Conversation]:
        return Conversation.objects.visible_to(request.user).listed(0, RECENT)

    def attention() -> Attention:
        person = request.user.pk
        return attention_of([person])[person] if person else Attention()

    return {"sidebar": SimpleLazyObject(recent), "attention": SimpleLazyObject(attention)}
