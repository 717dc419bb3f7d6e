"""The conversations that stand beside every page."""

from __future__ import annotations

import hashlib

from django.template.loader import render_to_string

from chat.live.fragments import partial
from chat.models import Conversation

RECENT = 30


class SidebarList(list[Conversation]):
    """Conversations as the sidebar lists them."""

    @property
    def digest(self) -> str:
        """A short text that differs where anything that is drawn of them does."""
        told = repr([_told(row) for row in self])
        return hashlib.blake2s(told.encode(), digest_size=8).hexdigest()


def sidebar_list_of(owner_id: int) -> SidebarList:
    """The person's pinned conversations, then the newest: thirty in all, none of them archived."""
    current = Conversation.objects.filter(owner=owner_id).current()
    return SidebarList(current.pinned_first().listed(0, RECENT))


def _told(row: Conversation) -> tuple[object, ...]:
    plan = (row.plan.done, row.plan.total) if row.plan else None
    state = row.unseen_turn_id, row.waits, plan, row.todos_left, row.pinned
    return row.pk.hex, row.title, row.updated_at.isoformat(), state


def sidebar_message(rows: SidebarList, page: Conversation | None = None) -> str:
    """Redraw them all beside a conversation's page, or another."""
    html = render_to_string("partials/_sidebar_list.html", {"sidebar": rows, "conversation": page})
    return partial("#sidebar-list", "outerMorph", html)
