"""The channel layer of several processes."""

from __future__ import annotations

import asyncio
from typing import Any

from channels_redis.pubsub import RedisPubSubChannelLayer

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
