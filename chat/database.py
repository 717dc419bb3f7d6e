"""Database access outside the event loop, on a few threads with persistent connections."""

from __future__ import annotations

import asyncio
import contextvars
import datetime
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone, translation

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

# SQLite has one writer at a time, and Python runs one thread at a time, so more threads would only wait. With
# fewer, threads that wait for another process's write would delay every read.
THREADS = 4


async def in_database(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function that uses the database, on a database thread.

    Each call begins outside any transaction. It sees the caller's context variables, language and time zone;
    changes to them end with the call. Cancellation takes effect only after the function has returned, so that
    two writes of one task never overlap.
    """
    reader = translation.get_language(), timezone.get_current_timezone()
    work = partial(_run, *reader, partial(function, *args, **kwargs))
    job = _threads().submit(contextvars.copy_context().run, work)
    result = asyncio.wrap_future(job)
    try:
        return await asyncio.shield(result)
    except asyncio.CancelledError:
        if not job.cancel():
            await asyncio.wait([result])
            if not result.cancelled() and result.exception():
                log.warning("a cancelled database call failed: %r", result.exception())
        raise


def close_database_threads() -> None:
    """End the threads after their current work, and close their connections.

    Blocks, so it must not be called on an event loop. A later call of `in_database` starts new threads.
    """
    global _executor
    with _lock:
        ending, _executor = _executor, None
    if ending:
        ending.shutdown(wait=True)
    while _persistent:
        connection = _persistent.pop()
        connection.inc_thread_sharing()  # its own thread has ended
        connection.close()


_lock = threading.Lock()
_executor: ThreadPoolExecutor | None = None
_persistent: set[BaseDatabaseWrapper] = set()


def _threads() -> ThreadPoolExecutor:
    global _executor
    with _lock:
        if _executor is None:
            _executor = ThreadPoolExecutor(THREADS, thread_name_prefix="database")
        return _executor


def _run(language: str | None, zone: datetime.tzinfo, work: Callable[[], T]) -> T:
    try:
        with timezone.override(zone):
            if language is None:
                return work()
            with translation.override(language):
                return work()
    finally:
        for connection in connections.all(initialized_only=True):
            _release(connection)


def _release(connection: BaseDatabaseWrapper) -> None:
    """Keep a healthy SQLite connection; close others, which returns one of PostgreSQL to its pool."""
    if connection.vendor == "sqlite" and not connection.errors_occurred and connection.get_autocommit():
        _persistent.add(connection)
    else:
        _persistent.discard(connection)
        connection.close()
