"""Servers started as programs of their own, and stopped again."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

PATIENCE = 120.0


def free_port() -> int:
    """A loopback port that is free at the moment."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        return int(bound.getsockname()[1])


@asynccontextmanager
async def running(port: int, folder: Path, *command: str, **surroundings: str) -> AsyncIterator[None]:
    """The command, while it runs, from when its port answers; raises RuntimeError if it never does."""
    with (folder / "server.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=folder, env={**os.environ, **surroundings}, stdout=log, stderr=log
        )
    try:
        await _answers(port, process, folder)
        yield
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _answers(port: int, process: asyncio.subprocess.Process, folder: Path) -> None:
    end = asyncio.get_running_loop().time() + PATIENCE
    while True:
        try:
            _reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return
        except OSError:
            if process.returncode is not None or asyncio.get_running_loop().time() > end:
                said = (folder / "server.log").read_text(errors="replace")[-300:]
                raise RuntimeError(f"it does not start: {said}") from None
            await asyncio.sleep(0.2)
