"""The channel layer of several processes: the queue of a socket is bounded."""

from __future__ import annotations

import asyncio

from chat.live.channel_layers import CAPACITY, RedisLayer
from tests.management.conftest import redis_url  # noqa: F401 (a fixture)


async def test_a_socket_that_takes_nothing_keeps_no_more_than_so_many(redis_url: str) -> None:  # noqa: F811
    layer = RedisLayer(hosts=[redis_url])
    channel = await layer.new_channel()
    await layer.group_add("group", channel)
    for number in range(3 * CAPACITY):
        await layer.group_send("group", {"type": "frame", "number": number})
    async with asyncio.timeout(10):
        first = [(await layer.receive(channel))["number"] for _ in range(CAPACITY)]
        await layer.group_send("group", {"type": "frame", "number": -1})
        while (await layer.receive(channel))["number"] != -1:
            pass
    assert first == list(range(CAPACITY))
    await layer.flush()
