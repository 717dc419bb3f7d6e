"""The worker's side of the doorbell. Every handler returns at once; the pool does the work."""

from __future__ import annotations

from typing import Any

from channels.consumer import AsyncConsumer

from chat.live.doorbell import AGENTS_GROUP, send_to
from chat.turns.pool import Pool

Message = dict[str, Any]

_pool: Pool | None = None


def pool() -> Pool:
    """The one pool of this process. It lives outside the consumer, which Channels replaces after an error."""
    global _pool
    if _pool is None:
        _pool = Pool()
    return _pool


async def close_pool() -> None:
    """End what this process works on; a later call of `pool` begins anew."""
    global _pool
    if _pool is not None:
        await _pool.drain()
        _pool = None


class AgentConsumer(AsyncConsumer):
    """Hears that turns wait, are to be stopped, or are to be shown."""

    async def agent_open(self, _message: Message) -> None:
        """The worker has started: listen, and look for work."""
        await self._listen()

    async def agent_ping(self, message: Message) -> None:
        """Somebody wants to know whether a worker is there."""
        await self._listen()
        await send_to(message["reply"], {"type": "agent.pong"})

    async def turn_run(self, _message: Message) -> None:
        """A turn is waiting."""
        await self._listen()
        await pool().kick()

    async def turn_stop(self, message: Message) -> None:
        """A turn is to stop."""
        pool().stop(message["turn"])

    async def _listen(self) -> None:
        pool().open()
        await self.channel_layer.group_add(AGENTS_GROUP, self.channel_name)
