"""Channel layers: in memory for a single process, and on Redis."""

from __future__ import annotations

import asyncio
import time
from copy import deepcopy
from typing import Any

from channels.exceptions import ChannelFull
from channels.layers import InMemoryChannelLayer
from channels_redis.pubsub import RedisPubSubChannelLayer


class MemoryLayer(InMemoryChannelLayer):
    """Channels' own on a monotonic clock, with fewer scans for expired messages.

    A wall clock set forward would expire pending messages and remove channels from their groups.
    """

    _next_scan = 0.0

    async def send(self, channel: str, message: dict[str, Any]) -> None:
        self.require_valid_channel_name(channel)
        queue = self.channels.setdefault(channel, asyncio.Queue(maxsize=self.get_capacity(channel)))
        try:
            queue.put_nowait((time.monotonic() + self.expiry, deepcopy(message)))
        except asyncio.QueueFull:
            raise ChannelFull(channel) from None

    def _clean_expired(self) -> None:
        """Drop channels that nobody reads; scans at most once a second."""
        now = time.monotonic()
        if now < self._next_scan:
            return
        self._next_scan = now + 1
        for channel, queue in list(self.channels.items()):
            if not queue.empty() and queue._queue[0][0] < now:
                del self.channels[channel]
                self._remove_from_groups(channel)


CAPACITY = 100  # messages queued for one socket; frames are hints, and a page that misses one resyncs


class RedisLayer(RedisPubSubChannelLayer):
    """Redis publish/subscribe with a bound on the queue of a socket that reads nothing."""

    def _get_layer(self) -> Any:
        layer = super()._get_layer()
        if not isinstance(layer.channels, _Channels):
            layer.channels = _Channels()
        return layer


class _Channels(dict[str, asyncio.Queue[Any]]):
    def __setitem__(self, name: str, _queue: asyncio.Queue[Any]) -> None:
        super().__setitem__(name, _Bounded())


class _Bounded(asyncio.Queue[Any]):
    def put_nowait(self, item: Any) -> None:
        """Queue the message, or drop it if the queue is full."""
        if self.qsize() < CAPACITY:
            super().put_nowait(item)
