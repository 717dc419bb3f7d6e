"""Who may be at the other end of a socket."""

from __future__ import annotations

from typing import Any

from chat.models import Conversation


def admitted(scope: dict[str, Any]) -> Conversation | None:
    """The conversation that the socket is for, if its person is still signed in and may see it.

    Reads the database anew: a session may have ended, and a right been taken, since the socket was opened.
    """
    user = scope["user"]
    session = scope.get("session")
    if not user.is_authenticated or (session is not None and not session.exists(session.session_key)):
        return None
    user.refresh_from_db()
    visible = Conversation.objects.visible_to(user) if user.is_active else Conversation.objects.none()
    return visible.filter(pk=scope["url_route"]["kwargs"]["conversation_id"]).first()
