"""How many commands run at a time, and which one is next."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial

from chat.agent.progress import report

Place = Callable[[], AbstractAsyncContextManager[None]]
"""Called for a context in which one command may run; entering it may take a while."""

UNBOUNDED: Place = nullcontext


class CommandPlaces:
    """Lets so many commands run at a time, of all users together.

    A free place goes to the user with the fewest commands running, and among those to the command that has
    waited longest.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._running: Counter[Hashable] = Counter()
        self._waiting: dict[asyncio.Future[None], Hashable] = {}  # oldest first

    def of(self, user: Hashable, notice: str) -> Place:
        """The places as this user takes them; a command that has to wait reports `notice`."""
        return partial(self._place, user, notice)

    @asynccontextmanager
    async def _place(self, user: Hashable, notice: str) -> AsyncIterator[None]:
        await self._enter(user, notice)
        try:
            yield
        finally:
            self._leave(user)

    async def _enter(self, user: Hashable, notice: str) -> None:
        granted = asyncio.get_running_loop().create_future()
        self._waiting[granted] = user
        self._grant()
        if granted.done():
            return
        report(lambda: notice)
        try:
            await granted
        except asyncio.CancelledError:
            if self._waiting.pop(granted, None) is None:  # the place was granted just now
                self._leave(user)
            raise
        report(str)  # nothing: the command has printed nothing yet

    def _leave(self, user: Hashable) -> None:
        self._free += 1
        self._running[user] -= 1
        self._running += Counter()  # forgets users without commands
        self._grant()

    def _grant(self) -> None:
        while self._free and self._waiting:
            granted = min(self._waiting, key=lambda each: self._running[self._waiting[each]])
            user = self._waiting.pop(granted)
            self._free -= 1
            self._running[user] += 1
            granted.set_result(None)
