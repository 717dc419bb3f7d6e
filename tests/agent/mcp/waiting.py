"""Waiting for what a connection comes to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

PATIENCE = 30.0  # seconds that anything may take on a busy machine


async def until(happened: Callable[[], object]) -> None:
    """Return once it has; TimeoutError when that takes too long."""
    async with asyncio.timeout(PATIENCE):
        while not happened():  # noqa: ASYNC110 - what is waited for is not all told by events
            await asyncio.sleep(0.01)
