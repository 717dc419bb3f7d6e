"""How many sockets one person may hold open in a process: each costs memory, the more if nobody reads it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from django.utils.translation import gettext as _

Application = Callable[..., Awaitable[Any]]

MOST = 60
CLOSE_TOO_MANY = 4429


class Crowd:
    """Lets a person's sockets in while they are not too many; expects the person in the scope."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self.open: Counter[int | None] = Counter()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> Any:
        person = scope["user"].pk
        if self.open[person] >= MOST:
            return await _Refusal.as_asgi()(scope, receive, send)
        self.open[person] += 1
        try:
            return await self.application(scope, receive, send)
        finally:
            self.open[person] -= 1
            self.open += Counter()  # drops those who have none


class _Refusal(AsyncWebsocketConsumer):
    async def connect(self) -> None:
        await self.accept()  # only a socket that was open can tell its page why it closes
        sentence = _("Too many tabs are open. Close some, then load this one again.")
        await self.send(text_data=json.dumps({"type": "error", "message": sentence}))
        await self.close(code=CLOSE_TOO_MANY)
