"""The worker while idle, and after its consumer has failed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from channels.layers import get_channel_layer

from chat.live.broadcast import AGENT_CHANNEL, worker_responds
from tests.live.site import Site, until


async def test_an_idle_worker_sets_few_timers(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    tab = await site.open(await site.conversation())
    await tab.close()
    await until(worker_responds)
    loop, timers = asyncio.get_running_loop(), []
    call_at = loop.call_at

    def counted(*what: Any, **more: Any) -> asyncio.TimerHandle:
        timers.append(what)
        return call_at(*what, **more)

    monkeypatch.setattr(loop, "call_at", counted)
    await asyncio.sleep(1)
    assert len(timers) <= 4, timers  # this test's own, and rounds


async def test_a_consumer_that_fails_is_replaced(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    await site.open(await site.conversation())
    await until(worker_responds)
    await get_channel_layer().send(AGENT_CHANNEL, {"type": "turn.stop"})  # names no turn
    async with asyncio.timeout(5):
        while "the worker's consumer failed" not in caplog.text:  # noqa: ASYNC110 (a log sends no event)
            await asyncio.sleep(0)
    assert await worker_responds()
