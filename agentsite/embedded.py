"""The agent worker inside the web process, so that one command runs everything."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from django.conf import settings

from chat.connections.local_servers import look
from chat.connections.mcp_servers import close_mcp_servers
from chat.connections.model_clients import close_models
from chat.turns.worker import close_pool, work

Application = Callable[..., Awaitable[Any]]


class EmbeddedWorker:
    """An ASGI application with the worker beside it.

    Daphne tells an application neither of its start nor of its end, so the worker starts with the first call,
    or when `start` is called, and a shutdown trigger of Twisted's drains it.
    """

    def __init__(self, application: Application) -> None:
        self.application = application
        self.task: asyncio.Task[None] | None = None
        self.looking: asyncio.Task[Any] | None = None

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        self.start()
        await self.application(scope, receive, send)

    def start(self) -> None:
        """Start the worker in the running loop, once, again if it died; none where WORKER says so.

        A site that nobody has told of a model looks for one on its machine.
        """
        if settings.DEMO and self.looking is None:
            self.looking = asyncio.get_running_loop().create_task(look())
        if settings.WORKER == "none" or (self.task is not None and not self.task.done()):
            return
        first = self.task is None
        self.task = asyncio.get_running_loop().create_task(work())
        reactor = sys.modules.get("twisted.internet.reactor")
        if first and reactor is not None and reactor.running:
            reactor.addSystemEventTrigger("before", "shutdown", self._drained_for_twisted)

    async def drain(self) -> None:
        """End what runs and stop the worker."""
        await close_pool()
        for task in (self.task, self.looking):
            if task:
                task.cancel()
        await close_mcp_servers()
        await close_models()

    def _drained_for_twisted(self) -> Any:
        from twisted.internet.defer import Deferred

        return Deferred.fromFuture(asyncio.ensure_future(self.drain()))

    async def _lifespan(self, receive: Any, send: Any) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self.start()
            else:
                await self.drain()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return
