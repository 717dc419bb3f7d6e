"""What a tool has to show while it still works."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any, Generic, Self, TypeVar

T = TypeVar("T")

EACH = 0.2  # seconds between what is shown of one call

Showing = Callable[[], str]
_listener: ContextVar[Callable[[Showing], None] | None] = ContextVar("listener", default=None)


def report(showing: Showing) -> None:
    """Say from within a tool that there is something new to see; `showing` gives all that there is by now.

    Costs next to nothing: `showing` is asked a few times a second at most, and never again after the tool is
    done. Outside of a turn nobody listens. Must be called on the event loop's thread.
    """
    if listener := _listener.get():
        listener(showing)


class Watched(Generic[T]):
    """Work in a task of its own, and what it reports on its way."""

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._showing: Showing | None = None
        self._news = asyncio.Event()
        self._next_at = time.monotonic() + EACH
        token = _listener.set(self._hear)
        self._task = asyncio.create_task(work)
        _listener.reset(token)
        self._task.add_done_callback(lambda _task: self._news.set())

    def _hear(self, showing: Showing) -> None:
        self._showing = showing
        self._news.set()

    async def next_report(self) -> str | None:
        """What there is to see, once that is something new; None when the work has ended."""
        await self._news.wait()
        if not self._task.done():
            await asyncio.wait([self._task], timeout=max(0.0, self._next_at - time.monotonic()))
        if self._task.done() or self._showing is None:
            return None
        self._news.clear()
        self._next_at = time.monotonic() + EACH
        return self._showing()

    async def ends_within(self, seconds: float) -> bool:
        """Whether the work ends within so many seconds."""
        await asyncio.wait([self._task], timeout=seconds)
        return self._task.done()

    def result(self) -> T:
        """What the work came to, once it has ended."""
        return self._task.result()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await cancelled(self._task)


async def cancelled(task: asyncio.Task[Any]) -> None:
    """Cancel a task if it has not ended, and wait for its end, also when this is cancelled in turn."""
    again: asyncio.CancelledError | None = None
    while not task.done():
        task.cancel()
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            again = error
    if again:
        raise again
