"""Progress reports of running tools."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any, Generic, Self, TypeVar

T = TypeVar("T")

INTERVAL = 0.2  # seconds between two reports of one call

GetOutput = Callable[[], str]
_listener: ContextVar[Callable[[GetOutput], None] | None] = ContextVar("listener", default=None)


def report(get_output: GetOutput) -> None:
    """Report from within a tool that there is new output; `get_output` returns all output so far.

    Called a few times a second at most, never after the tool's end. Must run on the event loop's thread.
    """
    if listener := _listener.get():
        listener(get_output)


class Watched(Generic[T]):
    """Runs a coroutine in its own task and collects its progress reports."""

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._get_output: GetOutput | None = None
        self._changed = asyncio.Event()
        self._next_report_at = time.monotonic() + INTERVAL
        token = _listener.set(self._receive)
        self._task = asyncio.create_task(work)
        _listener.reset(token)
        self._task.add_done_callback(lambda _task: self._changed.set())

    def _receive(self, get_output: GetOutput) -> None:
        self._get_output = get_output
        self._changed.set()

    async def next_report(self) -> str | None:
        """Wait for new output and return all of it; None when the work has ended."""
        await self._changed.wait()
        if not self._task.done():
            await asyncio.wait([self._task], timeout=max(0.0, self._next_report_at - time.monotonic()))
        if self._task.done() or self._get_output is None:
            return None
        self._changed.clear()
        self._next_report_at = time.monotonic() + INTERVAL
        return self._get_output()

    async def ends_within(self, seconds: float) -> bool:
        await asyncio.wait([self._task], timeout=seconds)
        return self._task.done()

    def result(self) -> T:
        return self._task.result()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await cancelled(self._task)


async def cancelled(task: asyncio.Task[Any]) -> None:
    """Cancel a task if it is running and wait for its end, even if the caller is cancelled, too.

    An error of the task that nobody has asked for until then is dropped.
    """
    interruption: asyncio.CancelledError | None = None
    while not task.done():
        task.cancel()
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            interruption = error
    if not task.cancelled():
        task.exception()  # or asyncio would log it
    if interruption:
        raise interruption
