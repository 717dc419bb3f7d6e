"""What several want at the same time, done once for all of them."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Together(Generic[T]):
    """Does work for all who ask under one key. Who asks while it is being done shares the next.

    So whatever one gets was begun after one had asked. Where the work raises, all who share it see that.
    """

    def __init__(self) -> None:
        self._at_work: dict[Hashable, asyncio.Task[T]] = {}
        self._next: dict[Hashable, asyncio.Task[T]] = {}

    async def __call__(self, key: Hashable, work: Callable[[], Awaitable[T]]) -> T:
        """What `work` gives; that of whoever asked first is done. It goes on when somebody stops waiting."""
        task = self._next.get(key)
        if task is None or task.done():
            begun = self._do(key, work, self._at_work.get(key))
            # A fresh context: nothing of the socket that came first belongs to the others.
            task = self._next[key] = asyncio.create_task(begun, context=contextvars.Context())
        return await asyncio.shield(task)

    async def _do(self, key: Hashable, work: Callable[[], Awaitable[T]], before: asyncio.Task[T] | None) -> T:
        if before:
            await asyncio.wait([before])
        self._at_work[key] = self._next.pop(key)
        try:
            return await work()
        finally:
            del self._at_work[key]
