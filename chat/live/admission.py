"""Who may be at the other end of a socket."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chat.models import Conversation

if TYPE_CHECKING:
    from django.contrib.auth.models import User


def signed_in(scope: dict[str, Any]) -> User | None:
    """The person at the socket, if they are still signed in and active. Reads the database anew."""
    user: User = scope["user"]
    session = scope.get("session")
    if not user.is_authenticated or (session is not None and not session.exists(session.session_key)):
        return None
    user.refresh_from_db()
    return user if user.is_active else None


def admitted(scope: dict[str, Any]) -> Conversation | None:
    """The conversation that the socket is for, if its person is still signed in and may see it.

    Reads the database anew: a session may have ended, and a right been taken, since the socket was opened.
    """
    user = signed_in(scope)
    if user is None:
        return None
    return (
        Conversation.objects.visible_to(user)
        .filter(pk=scope["url_route"]["kwargs"]["conversation_id"])
        .first()
    )
