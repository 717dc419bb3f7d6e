"""The channel layer of a single process."""

from __future__ import annotations

import asyncio
import time
from copy import deepcopy
from typing import Any

from channels.exceptions import ChannelFull
from channels.layers import InMemoryChannelLayer
from channels_redis.pubsub import RedisPubSubChannelLayer


class MemoryLayer(InMemoryChannelLayer):
    """Channels' own, on a clock that nobody sets, with less looking for what has expired.

    By the wall clock, one that is set forward has every message that is on its way expire, and its channel
    thrown out of all its groups; and a socket would fall silent after a day.
    """

    _next_look = 0.0

    async def send(self, channel: str, message: dict[str, Any]) -> None:
        """Queue a message; raises ChannelFull when the channel has as many as it may."""
        self.require_valid_channel_name(channel)
        queue = self.channels.setdefault(channel, asyncio.Queue(maxsize=self.get_capacity(channel)))
        try:
            queue.put_nowait((time.monotonic() + self.expiry, deepcopy(message)))
        except asyncio.QueueFull:
            raise ChannelFull(channel) from None

    def _clean_expired(self) -> None:
        """Forget channels whose messages nobody takes; once a second is often enough to look."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + 1
        for channel, queue in list(self.channels.items()):
            if not queue.empty() and queue._queue[0][0] < now:
                del self.channels[channel]
                self._remove_from_groups(channel)


CAPACITY = 100  # messages that wait for one socket; frames are hints, and one that is missing is asked for


class RedisLayer(RedisPubSubChannelLayer):
    """Redis's publish and subscribe, with a bound on what waits for a socket that takes nothing."""

    def _get_layer(self) -> Any:
        layer = super()._get_layer()
        if not isinstance(layer.channels, _Channels):
            layer.channels = _Channels()
        return layer


class _Channels(dict[str, asyncio.Queue[Any]]):
    """Queues by channel, each of them bounded, whatever it was to be."""

    def __setitem__(self, name: str, _queue: asyncio.Queue[Any]) -> None:
        super().__setitem__(name, _Bounded())


class _Bounded(asyncio.Queue[Any]):
    def put_nowait(self, item: Any) -> None:
        """Take the message in, or let it go where as many wait as may."""
        if self.qsize() < CAPACITY:
            super().put_nowait(item)
