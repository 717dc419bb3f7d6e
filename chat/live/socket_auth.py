"""Authorization of sockets: the session is checked in the database, repeatedly."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY, get_user_model
from django.contrib.sessions.models import Session
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from chat.live.broadcast import send_to_sockets_of
from chat.models import Conversation

if TYPE_CHECKING:
    from django.contrib.auth.models import User


def signed_in(scope: dict[str, Any]) -> User | None:
    user = signed_in_users([scope])[0]
    if user is not None:
        scope["user"] = user
    return user


def signed_in_users(scopes: Sequence[dict[str, Any]]) -> list[User | None]:
    """The user of each scope; None if the session is no longer valid. Two queries for any number.

    A session ends when its user signs out, changes the password, is deactivated or deleted.
    """
    keys = {scope["session"].session_key for scope in scopes}
    rows = Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
    sessions = {row.session_key: row.get_decoded() for row in rows}
    claimed = {str(session[SESSION_KEY]) for session in sessions.values() if SESSION_KEY in session}
    accounts = get_user_model().objects.select_related("chat_preferences")
    active = accounts.filter(is_active=True, pk__in=claimed)
    users = {str(user.pk): user for user in active}
    hashes = {key: user.get_session_auth_hash() for key, user in users.items()}

    def user_of(scope: dict[str, Any]) -> User | None:
        session = sessions.get(scope["session"].session_key, {})
        user_id = str(session.get(SESSION_KEY))
        known = scope.get("user")  # once admitted; the session may now be another user's
        claims_user = user_id in users and (known is None or str(known.pk) == user_id)
        is_current = claims_user and constant_time_compare(session.get(HASH_SESSION_KEY, ""), hashes[user_id])
        return users[user_id] if is_current else None

    return [user_of(scope) for scope in scopes]


def authorized_conversation(scope: dict[str, Any]) -> Conversation | None:
    """The socket's conversation, if its user is signed in and owns it."""
    user = signed_in(scope)
    if user is None:
        return None
    return (
        Conversation.objects.visible_to(user)
        .filter(pk=scope["url_route"]["kwargs"]["conversation_id"])
        .first()
    )


async def close_sockets_of(user_id: int, except_session: str | None = None) -> None:
    """Make the user's sockets check their sessions now, after the commit.

    If the message is lost, the periodic check closes them within seconds, as it does those of
    `except_session`.
    """
    await send_to_sockets_of(user_id, {"type": "session.ended", "except": except_session})


Application = Callable[..., Awaitable[Any]]


class SameOrigin:
    """Refuses a socket whose Origin is neither the site's own scheme, host and port nor a trusted one.

    Channels' own validator compares host names alone, so that another port on the same machine would pass.
    """

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> Any:
        inner = self.application if allowed(scope) else RefusedSocket.as_asgi()
        return await inner(scope, receive, send)


def allowed(scope: dict[str, Any]) -> bool:
    """Whether the handshake's Origin is one that the site serves."""
    headers = {name: value.decode("latin-1") for name, value in scope.get("headers", [])}
    origin = headers.get(b"origin", "")
    host = headers.get(b"host", "")
    if origin in settings.TRUSTED_ORIGINS:
        return True
    forwarded = headers.get(b"x-forwarded-proto", "") if settings.TRUST_PROXY else ""
    secure = (forwarded or scope.get("scheme", "ws")) in ("https", "wss")
    return bool(host) and _origin(origin) == _origin(f"{'https' if secure else 'http'}://{host}")


def _origin(address: str) -> tuple[str, str, int] | None:
    """Scheme, host and port of an address; None if it is invalid."""
    try:
        parts = urlsplit(address)
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    except (ValueError, KeyError):
        return None
    return (parts.scheme, parts.hostname or "", port) if parts.hostname else None


class RefusedSocket(AsyncWebsocketConsumer):
    async def connect(self) -> None:
        await self.close(code=4403)
