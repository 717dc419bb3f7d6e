"""What the sockets of all live pages have in common: who may be there, numbered drawings, and mending."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer

from chat.live.numbering import Numbering

log = logging.getLogger(__name__)

CHECK = 8.0  # seconds between looks whether the person may still be here; all sockets look within 10

CLOSE_NOT_FOUND = 4404

Mending = Callable[[], Awaitable[None]]


class PageSocket(AsyncWebsocketConsumer):
    """Speaks with one open tab. What is drawn for it is numbered, so that the tab sees what it lacks."""

    @staticmethod
    def admit(scope: dict[str, Any]) -> Any:
        """What the socket is for, if its person may see that; None if not. Reads the database anew."""
        raise NotImplementedError

    async def let_in(self) -> Any:
        """What the socket is for; None for somebody who may not be here, who is told so."""
        self.checked_at = time.monotonic()
        self.numbering = Numbering()
        self.speaking = asyncio.Lock()  # or a snapshot and a frame might get between each other
        self.mending: asyncio.Task[None] | None = None
        found = await database_sync_to_async(self.admit)(self.scope)
        if found is None:
            await self.accept()  # only a socket that was open can tell its page why it closes
            await self.close(code=CLOSE_NOT_FOUND)
        return found

    async def is_let_in(self) -> bool:
        """Whether the person may still be here; closes the socket if not."""
        self.checked_at = time.monotonic()
        found = await database_sync_to_async(self.admit)(self.scope)
        if found is None:
            await self.close(code=CLOSE_NOT_FOUND)
        return found is not None

    async def session_ended(self, message: dict[str, Any]) -> None:
        """A session of this user may have ended: check whether it is the one of this socket."""
        if message["except"] != self.scope["session"].session_key:
            await self.is_let_in()

    async def check(self) -> None:
        """Close the socket of somebody who may be here no more."""
        await self.is_let_in()

    @property
    def is_to_be_checked(self) -> bool:
        """Whether it is time to look again who is here."""
        return time.monotonic() - self.checked_at >= CHECK

    async def draw(self, message: str) -> None:
        """Send a drawing with the next number."""
        await self.send(text_data=self.numbering.label(message))

    async def draw_all(self, messages: list[str]) -> None:
        """Send drawings after which nothing may follow for a while."""
        for message in messages:
            await self.draw(message)
        await self.mark()

    async def mark(self) -> None:
        """Tell a tab that has not said that it has everything the latest number."""
        if mark := self.numbering.mark():
            await self.send(text_data=mark)

    async def send_json(self, **content: Any) -> None:
        """Say something to the page's script."""
        await self.send(text_data=json.dumps(content))

    def mend(self, mending: Mending | None) -> None:
        """Do what a look found to be done, if nothing is being mended yet. Returns at once."""
        if mending and (self.mending is None or self.mending.done()):
            self.mending = asyncio.create_task(self._mend(mending))

    async def _mend(self, mending: Mending) -> None:
        try:
            await mending()
        except Exception as error:  # the next look finds it still to be done
            log.warning("a tab could not be sent what it lacks: %r", error)

    def leave_off(self) -> None:
        """Mend nothing more."""
        if self.mending:
            self.mending.cancel()
