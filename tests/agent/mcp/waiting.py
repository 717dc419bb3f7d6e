"""Waits for a condition."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

PATIENCE = 30.0  # seconds that anything may take on a busy machine


async def until(happened: Callable[[], object]) -> None:
    """Wait until the condition holds; raises TimeoutError."""
    async with asyncio.timeout(PATIENCE):
        while not happened():  # noqa: ASYNC110 - what is waited for is not all told by events
            await asyncio.sleep(0.01)
