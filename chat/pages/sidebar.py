"""Context processor of the sidebar."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from chat.live.regions import owner_state_of


def sidebar(request: HttpRequest) -> dict[str, Any]:
    """The user's pinned and newest conversations and what needs attention, queried lazily."""

    state = SimpleLazyObject(lambda: owner_state_of(request.user.pk or 0))
    return {
        "sidebar": SimpleLazyObject(lambda: state.rows),
        "attention": SimpleLazyObject(lambda: state.attention),
    }
