"""Which pages may open a socket: those of this very site."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings

Application = Callable[..., Awaitable[Any]]


class SameOrigin:
    """Refuses a socket whose Origin is not the site's own scheme, host and port, nor a trusted one.

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
    return bool(host) and _place(origin) == _place(f"{'https' if secure else 'http'}://{host}")


def _place(address: str) -> tuple[str, str, int] | None:
    """Scheme, host and port of an address; None for what is none."""
    try:
        parts = urlsplit(address)
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    except (ValueError, KeyError):
        return None
    return (parts.scheme, parts.hostname or "", port) if parts.hostname else None


class RefusedSocket(AsyncWebsocketConsumer):
    """Closes at once, so that the handshake is answered with 403."""

    async def connect(self) -> None:
        await self.close(code=4403)
