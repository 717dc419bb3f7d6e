"""The sending half of one HTTP exchange."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]


class Outlet:
    """Sends one response. `complete` is true once the client has been offered all of it."""

    def __init__(self, send: Send) -> None:
        self.send = send
        self.complete = False

    async def whole(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        """A response in one piece: bytes and text as they are, anything else as JSON."""
        content, kind = _encoded(body)
        await self.start(status, {"content-type": kind, "content-length": str(len(content))}, headers or {})
        await self.end(content)

    async def fault(self, status: int, text: str) -> None:
        """An error in the form that chat-completions clients read."""
        await self.whole(status, {"error": {"message": text, "type": "server_error", "code": None}})

    async def start(self, status: int, *headers: Mapping[str, str]) -> None:
        """The status and headers; a later mapping's header replaces an earlier one of the same name."""
        merged = {name.lower(): value for mapping in headers for name, value in mapping.items()}
        pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in merged.items()]
        await self.send({"type": "http.response.start", "status": status, "headers": pairs})

    async def chunk(self, piece: bytes) -> None:
        await self.send({"type": "http.response.body", "body": piece, "more_body": True})

    async def end(self, piece: bytes = b"") -> None:
        # A client may leave as soon as it has read [DONE], before this last message: it has missed nothing.
        self.complete = True
        await self.send({"type": "http.response.body", "body": piece, "more_body": False})


def _encoded(body: Any) -> tuple[bytes, str]:
    if isinstance(body, bytes):
        return body, "application/octet-stream"
    if isinstance(body, str):
        return body.encode(), "text/plain; charset=utf-8"
    return json.dumps(body, ensure_ascii=False).encode(), "application/json"
