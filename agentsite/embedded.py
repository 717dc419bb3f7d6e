"""The agent worker inside the web process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from django.conf import settings

from chat.connections.local_servers import scan
from chat.connections.mcp_servers import close_mcp_servers
from chat.connections.model_clients import close_models
from chat.turns.worker import close_pool, work

Application = Callable[..., Awaitable[Any]]


class EmbeddedWorker:
    """An ASGI application that also runs the worker.

    Daphne has no lifespan events, so the worker starts with the first call or `start`, and a shutdown trigger
    of Twisted's drains it.
    """

    def __init__(self, application: Application) -> None:
        self.application = application
        self.task: asyncio.Task[None] | None = None
        self.server_search: asyncio.Task[Any] | None = None

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        self.start()
        await self.application(scope, receive, send)

    def start(self) -> None:
        """Start the worker if it is not running and WORKER is not "none".

        In demo mode also look for a model server on this machine, once.
        """
        if settings.DEMO and self.server_search is None:
            self.server_search = asyncio.get_running_loop().create_task(scan())
        if settings.WORKER == "none" or (self.task is not None and not self.task.done()):
            return
        is_first_start = self.task is None
        self.task = asyncio.get_running_loop().create_task(work())
        reactor = sys.modules.get("twisted.internet.reactor")
        if is_first_start and reactor is not None and reactor.running:
            reactor.addSystemEventTrigger("before", "shutdown", self._drain_deferred)

    async def drain(self) -> None:
        await close_pool()
        for task in (self.task, self.server_search):
            if task:
                task.cancel()
        await close_mcp_servers()
        await close_models()

    def _drain_deferred(self) -> Any:
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
