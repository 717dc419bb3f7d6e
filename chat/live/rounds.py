"""Looks at the rows, made now and then for all open tabs of one kind in this process together."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from typing import Generic, TypeVar

from asgiref.sync import ThreadSensitiveContext

log = logging.getLogger(__name__)

ROUND = 0.5  # seconds between looks

T = TypeVar("T")


class Rounds(Generic[T]):
    """Looks for as long as there are tabs."""

    def __init__(self) -> None:
        self.tabs: set[T] = set()
        self._looking: asyncio.Task[None] | None = None

    async def look(self) -> None:
        """See how things stand, and tell the tabs. May raise: the next round comes."""
        raise NotImplementedError

    def join(self, tab: T) -> None:
        """From now on the tab is told."""
        self.tabs.add(tab)
        if self._looking is None or self._looking.done():
            # A fresh context: nothing of the socket that came first belongs to the others.
            self._looking = asyncio.create_task(self._look_on(), context=contextvars.Context())

    def leave(self, tab: T) -> None:
        """The tab is told nothing more."""
        self.tabs.discard(tab)
        if not self.tabs and self._looking:
            self._looking.cancel()
            self._looking = None

    async def _look_on(self) -> None:
        async with ThreadSensitiveContext():  # a thread of its own: no socket's question holds it up
            while True:
                await asyncio.sleep(ROUND)
                try:
                    await self.look()
                except Exception as error:  # a database that is away comes back
                    log.warning("nobody knows how things stand for the open tabs: %s", error)
