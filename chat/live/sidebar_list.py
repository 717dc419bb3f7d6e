"""The conversations that every page lists in its sidebar."""

from __future__ import annotations

from chat.models import Conversation

RECENT = 30


class SidebarList(list[Conversation]):
    """Conversations as the sidebar lists them, and the version of the list."""

    version = ""


def sidebar_list_of(owner_id: int) -> SidebarList:
    """The user's pinned conversations, then the newest: thirty in all, none of them archived."""
    current = Conversation.objects.filter(owner=owner_id).current()
    return SidebarList(current.pinned_first().listed(0, RECENT))
