"""The channel layers, muddled: what anybody receives is dropped, doubled and reordered by chance."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from typing import Any

from channels_redis.pubsub import RedisPubSubLoopLayer

from chat.live.channel_layers import MemoryLayer
from tests.faults.muddle import Muddle

Message = dict[str, Any]
LAST = re.compile(r"<!--\d+\.\d+\.2147483648 ")
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
    return message["type"] == "chat.frame" and LAST.match(message["text"]) is not None
