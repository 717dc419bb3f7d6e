"""Database work on a few threads with persistent connections."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection, transaction
from django.db.backends.signals import connection_created
from django.utils import translation

from chat.database import THREADS, close_database_threads, in_database

word: ContextVar[str] = ContextVar("word", default="")


@pytest.fixture
def opened(transactional_db: None) -> Iterator[list[str]]:
    """The names of the database threads that opened a connection, in order."""
    close_database_threads()
    names: list[str] = []

    def note(**_: Any) -> None:
        if (name := threading.current_thread().name).startswith("database"):
            names.append(name)

    connection_created.connect(note)
    yield names
    connection_created.disconnect(note)
    close_database_threads()


async def test_connections_last(opened: list[str], owner: User) -> None:
    for _ in range(3):
        counts = await asyncio.gather(*(in_database(User.objects.count) for _ in range(3 * THREADS)))
        assert counts == [1] * 3 * THREADS
    assert 0 < len(opened) == len(set(opened)) <= THREADS
    await asyncio.to_thread(close_database_threads)
    assert await in_database(User.objects.count) == 1


async def test_a_connection_that_had_an_error_is_replaced(opened: list[str], owner: User) -> None:
    def fail() -> None:
        with transaction.atomic():
            User.objects.create_user("never")
            connection.cursor().execute("SELECT nothing FROM nowhere")

    for _ in range(THREADS):
        with pytest.raises(OperationalError):
            await in_database(fail)
    assert await in_database(User.objects.filter(username="never").exists) is False
    assert await in_database(connection.get_autocommit) is True
    assert await in_database(lambda: connection.in_atomic_block) is False


async def test_context_and_language_reach_the_call_and_nothing_stays_behind(opened: list[str]) -> None:
    def look() -> tuple[str, str | None]:
        return word.get(), translation.get_language()

    def change() -> None:
        word.set("left behind")
        translation.activate("zh-hans")

    with translation.override("zh-hans"):
        word.set("told")
        assert await in_database(look) == ("told", "zh-hans")
    await asyncio.gather(*(in_database(change) for _ in range(THREADS)))
    told = await asyncio.gather(*(in_database(look) for _ in range(THREADS)))
    assert set(told) == {("told", "en")}


async def test_a_cancelled_caller_goes_on_when_the_call_has_returned(opened: list[str]) -> None:
    began, finish, ended = threading.Event(), threading.Event(), []

    def slow() -> None:
        began.set()
        finish.wait(5)
        ended.append("the call")

    async def caller() -> None:
        try:
            await in_database(slow)
        except asyncio.CancelledError:
            ended.append("the caller")
            raise

    task = asyncio.create_task(caller())
    await asyncio.to_thread(began.wait, 5)
    task.cancel()
    await asyncio.sleep(0)
    finish.set()
    await asyncio.wait([task])
    assert (ended, task.cancelled()) == (["the call", "the caller"], True)
