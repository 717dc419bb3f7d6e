"""Connections to servers that are real processes, closed after the test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

import pytest

from chat.agent.limits import Retry
from chat.agent.mcp import Program, Server
from chat.agent.mcp.connection import Connection

SOURCE = (Path(__file__).parent / "stdio_server.py").read_text()


class Connect(Protocol):
    def __call__(self, server: Server, **given: Any) -> Awaitable[Connection]: ...


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., Program]:
    """The test server with one special behaviour."""

    def made(habit: str = "well", **given: Any) -> Program:
        return Program(("python3", "-c", SOURCE, habit), tmp_path / "servers" / habit, **given)

    return made


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    """A connection after its first attempt; reconnects without delay."""
    made: list[Connection] = []

    async def connected(server: Server, **given: Any) -> Connection:
        made.append(Connection(server, **{"retry": Retry(first_delay=0.01, max_delay=0.1), **given}))
        await made[-1].tried()
        return made[-1]

    yield connected
    for connection in made:
        await connection.close()
