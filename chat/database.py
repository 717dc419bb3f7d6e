"""Database work off the event loop: a few threads of the process, whose connections last."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import translation

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

# SQLite has one writer at a time, and Python runs one thread at a time: more threads would only wait. With
# fewer, those that wait for another process's write would hold up every read.
THREADS = 4


async def in_database(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function that uses the database, on one of the process's database threads.

    Each call begins outside any transaction. The caller's context variables and language hold in it, and what
    it changes of them ends with it. A caller that is cancelled goes on only after the function has returned,
    so that two writes of one task never overlap.
    """
    work = partial(_called, translation.get_language(), partial(function, *args, **kwargs))
    job = _threads().submit(contextvars.copy_context().run, work)
    result = asyncio.wrap_future(job)
    try:
        return await asyncio.shield(result)
    except asyncio.CancelledError:
        if not job.cancel():
            await asyncio.wait([result])
            if not result.cancelled() and result.exception():
                log.warning("a call of the database was cancelled and failed: %r", result.exception())
        raise


def close_database_threads() -> None:
    """End the threads, after what they are doing, and close their connections; a later call starts new ones.

    It waits, so it is not to be called on an event loop.
    """
    global _executor
    with _lock:
        ending, _executor = _executor, None
    if ending:
        ending.shutdown(wait=True)
    while _lasting:
        connection = _lasting.pop()
        connection.inc_thread_sharing()  # its own thread has ended
        connection.close()


_lock = threading.Lock()
_executor: ThreadPoolExecutor | None = None
_lasting: set[BaseDatabaseWrapper] = set()


def _threads() -> ThreadPoolExecutor:
    global _executor
    with _lock:
        if _executor is None:
            _executor = ThreadPoolExecutor(THREADS, thread_name_prefix="database")
        return _executor


def _called(language: str | None, work: Callable[[], T]) -> T:
    try:
        if language is None:
            return work()
        with translation.override(language):
            return work()
    finally:
        for connection in connections.all(initialized_only=True):
            _tidy(connection)


def _tidy(connection: BaseDatabaseWrapper) -> None:
    """Keep a sound SQLite connection; close any other, which gives one of PostgreSQL back to its pool."""
    if connection.vendor == "sqlite" and not connection.errors_occurred and connection.get_autocommit():
        _lasting.add(connection)
    else:
        _lasting.discard(connection)
        connection.close()
