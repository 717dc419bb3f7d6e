"""`manage.py runworker agent`: an agent worker in its own process."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from prometheus_client import start_http_server

from chat.connections.mcp_servers import close_mcp_servers
from chat.connections.model_clients import close_models
from chat.live.broadcast import AGENT_CHANNEL, channel_layer_responds
from chat.management.open_files import allow_open_files
from chat.turns.worker import close_pool, work

MAX_TRIES = 5  # to reach the channel layer, one per second


class Command(BaseCommand):
    help = "Take turns, on this machine or another one than the site's, until told to stop."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("channel", choices=[AGENT_CHANNEL], help="what the worker listens on")
        parser.add_argument(
            "--metrics",
            metavar="HOST:PORT",
            help="serve this worker's figures to Prometheus, to whoever asks",
        )

    def handle(self, *args: Any, channel: str, metrics: str | None, **options: Any) -> None:
        if not settings.REDIS_URL:
            raise CommandError(
                "runworker needs REDIS_URL: without it the channel layer is in memory and reaches no other "
                "process. A single machine needs no runworker, for `serve` has a worker inside."
            )
        allow_open_files()
        if metrics:
            self._serve_metrics(metrics)
        asyncio.run(self._work(channel))

    def _serve_metrics(self, address: str) -> None:
        host, colon, port = address.rpartition(":")
        if not colon or not port.isdecimal() or int(port) > 65535:
            raise CommandError(f"--metrics takes HOST:PORT, such as 127.0.0.1:9100, not {address!r}.")
        try:
            start_http_server(int(port), host.strip("[]") or "127.0.0.1")
        except OSError as error:
            raise CommandError(f"--metrics: {address} cannot be listened on ({error.strerror}).") from None

    async def _work(self, channel: str) -> None:
        if not await _answers_soon():
            raise CommandError("Redis does not answer. Check that it runs and that REDIS_URL is right.")
        stop = asyncio.Event()
        for signum in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(signum, stop.set)
        working = asyncio.create_task(work())
        waiting = asyncio.create_task(stop.wait())
        self.stdout.write(f"Taking turns from {channel!r}, {settings.MAX_TURNS} at a time. Ctrl-C stops.")
        self.stdout.flush()
        done, _ = await asyncio.wait([working, waiting], return_when=asyncio.FIRST_COMPLETED)
        await close_pool()
        working.cancel()
        await asyncio.wait([working])
        await close_mcp_servers()
        await close_models()
        if working in done:
            working.result()


async def _answers_soon() -> bool:
    """Wait for the channel layer, which may have been started together with the worker."""
    for _ in range(MAX_TRIES - 1):
        if await channel_layer_responds():
            return True
        await asyncio.sleep(1)
    return await channel_layer_responds()
