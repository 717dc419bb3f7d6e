"""The conversations beside every page."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from chat.live.attention import Attention, attention_of
from chat.live.sidebar_list import SidebarList, sidebar_list_of


def sidebar(request: HttpRequest) -> dict[str, Any]:
    """The person's pinned and newest conversations, and what wants attention; looked up where shown."""

    def recent() -> SidebarList:
        return sidebar_list_of(request.user.pk) if request.user.pk else SidebarList()

    def attention() -> Attention:
        person = request.user.pk
        return attention_of([person])[person] if person else Attention()

    return {"sidebar": SimpleLazyObject(recent), "attention": SimpleLazyObject(attention)}
