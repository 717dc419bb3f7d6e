"""The channel layers, muddled: what anybody receives is dropped, doubled and reordered by chance."""

from __future__ import annotations

import itertools
import random
import re
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from channels_redis.pubsub import RedisPubSubLoopLayer

from chat.live.channel_layers import MemoryLayer

M = TypeVar("M")

SHARE = 0.1  # of the messages that are lost; as many are doubled, and as many come behind the next one
LAST = 0.3  # of the last ones


class Muddle(Generic[M]):
    """Chance by a seed. Of messages that are `last`, which no other follows, more are lost."""

    def __init__(self, seed: str, last: Callable[[M], bool]) -> None:
        self.chance = random.Random(seed)
        self.last = last
        self.late: M | None = None

    def __call__(self, message: M) -> list[M]:
        """What goes on now that `message` has come."""
        behind, self.late = self.late, None
        return self._fate(message) + ([] if behind is None else [behind])

    def _fate(self, message: M) -> list[M]:
        if self.last(message) and self.chance.random() < LAST:
            return []
        draw = self.chance.random() / SHARE
        if draw < 1:
            return []
        if draw < 2:
            return [message, message]
        if draw < 3:
            self.late = message
            return []
        return [message]


Message = dict[str, Any]
LAST_FRAME = re.compile(r"<!--\d+\.\d+\.2147483648 ")
Receive = Callable[[Any, str], Awaitable[Message]]


def install(seed: str) -> None:
    """Muddle the layers of this process from now on."""
    for layer in (MemoryLayer, RedisPubSubLoopLayer):
        layer.receive = _muddled(layer.receive, seed)


def _muddled(receive: Receive, seed: str) -> Receive:
    numbers = itertools.count()
    muddles: dict[str, Muddle[Message]] = defaultdict(lambda: Muddle(f"{seed} {next(numbers)}", _ends))
    arrived: dict[str, deque[Message]] = defaultdict(deque)

    async def receive_some(layer: Any, channel: str) -> Message:
        while not arrived[channel]:
            arrived[channel].extend(muddles[channel](await receive(layer, channel)))
        return arrived[channel].popleft()

    return receive_some


def _ends(message: Message) -> bool:
    """Whether it is the last of a turn."""
    return message["type"] == "chat.frame" and LAST_FRAME.match(message["text"]) is not None
