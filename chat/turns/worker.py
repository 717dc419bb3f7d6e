"""The agent worker, in its own process or beside the site."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from channels.consumer import AsyncConsumer
from channels.layers import get_channel_layer
from channels.routing import ChannelNameRouter
from channels.worker import Worker

from chat import measures
from chat.connections.mcp_servers import mcp_servers
from chat.live.broadcast import AGENT_CHANNEL, AGENTS_GROUP, send_to
from chat.turns.agents import Shell
from chat.turns.indexing import keep_indexed
from chat.turns.pool import Pool

log = logging.getLogger(__name__)

RETRY_DELAY = 1.0  # seconds between tries while the channel layer is unavailable


class AgentWorker(Worker):
    """Channels' worker on the agent channel. Starts the consumer at once; survives outages of the layer."""

    def __init__(self) -> None:
        application = ChannelNameRouter({AGENT_CHANNEL: AgentConsumer.as_asgi()})
        super().__init__(application, [AGENT_CHANNEL], get_channel_layer())

    def get_or_create_application_instance(
        self, scope_id: str, scope: dict[str, Any]
    ) -> asyncio.Queue[dict[str, Any]]:
        """The queue of the channel's consumer; one that failed is replaced at the next message."""
        is_new = scope_id not in self.application_instances
        queue: asyncio.Queue[dict[str, Any]] = super().get_or_create_application_instance(scope_id, scope)
        if is_new:
            future = self.application_instances[scope_id]["future"]
            future.add_done_callback(lambda _future: self._ended(scope_id))
        return queue

    def _ended(self, scope_id: str) -> None:
        consumer = self.application_instances.pop(scope_id)["future"]
        if not consumer.cancelled() and consumer.exception():
            log.error("the worker's consumer failed", exc_info=consumer.exception())

    async def application_checker(self) -> None:
        """Wait forever: Channels' own polls ten times a second."""
        await asyncio.get_running_loop().create_future()

    async def handle(self) -> None:
        """Listen in this task, so that cancelling it unsubscribes from the layer."""
        await self.listener(AGENT_CHANNEL)

    async def listener(self, channel: str) -> None:
        # Not through the layer: Redis drops what is sent before anyone listens.
        consumer = self.get_or_create_application_instance(channel, {"type": "channel", "channel": channel})
        consumer.put_nowait({"type": "agent.open"})
        while True:
            try:
                await super().listener(channel)
            except Exception as error:  # turns are still found in the database
                measures.layer_errors.inc()
                log.warning("the channel layer does not answer: %r", error)
            await asyncio.sleep(RETRY_DELAY)

    async def close(self) -> None:
        consumers = [instance["future"] for instance in self.application_instances.values()]
        for consumer in consumers:
            consumer.cancel()
        if consumers:
            await asyncio.wait(consumers)


async def work() -> None:
    """Run turns until cancelled; the caller closes the pool before cancelling."""
    await Shell.find_out()
    # Half a second to import, so that the first turn does not wait for it.
    await asyncio.to_thread(__import__, "chat.agent.model.chat_model")
    pool().open()
    mcp_servers().open()
    worker = AgentWorker()
    indexing = asyncio.create_task(keep_indexed())
    try:
        await worker.arun()
    finally:
        indexing.cancel()
        await worker.close()


Message = dict[str, Any]

_pool: Pool | None = None


def pool() -> Pool:
    """This process's pool. It lives outside the consumer, which Channels replaces after an error."""
    global _pool
    if _pool is None:
        _pool = Pool()
    return _pool


async def close_pool() -> None:
    """Drain and close the pool; a later call of `pool` creates a new one."""
    global _pool
    if _pool is not None:
        await _pool.drain()
        _pool = None


class AgentConsumer(AsyncConsumer):
    """Receives notifications: a turn is queued, or must stop."""

    async def agent_open(self, _message: Message) -> None:
        await self._listen()

    async def agent_ping(self, message: Message) -> None:
        await self._listen()
        await send_to(message["reply"], {"type": "agent.pong"})

    async def turn_run(self, _message: Message) -> None:
        await self._listen()
        await pool().kick()

    async def turn_stop(self, message: Message) -> None:
        pool().stop(message["turn"])

    async def _listen(self) -> None:
        pool().open()
        await self.channel_layer.group_add(AGENTS_GROUP, self.channel_name)
