"""The conversations that stand beside every page."""

from __future__ import annotations

from django.template.loader import render_to_string

from chat.live.fragments import partial
from chat.models import Conversation

RECENT = 30


def sidebar_list_of(owner_id: int) -> list[Conversation]:
    """The person's pinned conversations, then the newest: thirty in all, none of them archived."""
    current = Conversation.objects.filter(owner=owner_id).current()
    return current.pinned_first().listed(0, RECENT)


def sidebar_message(rows: list[Conversation], page: Conversation) -> str:
    """Redraw them all beside a conversation's page."""
    html = render_to_string("partials/_sidebar_list.html", {"sidebar": rows, "conversation": page})
    return partial("#sidebar-list", "outerMorph", html)
