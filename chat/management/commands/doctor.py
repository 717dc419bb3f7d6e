"""`manage.py doctor`: checks what works, with a cure for what does not."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand

from chat.connections.model_clients import close_models
from chat.management.checks import Finding, channel_layer, data_folder, database, mcp_servers, model, sandbox


class Command(BaseCommand):
    help = "Check data folder, database, channel layer, sandbox, model and MCP servers, with a cure for each."
    # Django would stop at the first failure of its own checks.
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        logging.disable()  # problems are reported as findings
        well = True
        with asyncio.Runner() as runner:
            for finding in self._findings(runner):
                self.stdout.write(str(finding), None if finding.well else self.style.ERROR)
                self.stdout.flush()
                well = well and finding.well
        if not well:
            sys.exit(1)

    def _findings(self, runner: asyncio.Runner) -> Iterator[Finding]:
        yield data_folder()
        yield database()
        yield runner.run(channel_layer())
        yield runner.run(sandbox())
        yield from runner.run(_check_model())
        yield from runner.run(mcp_servers())


async def _check_model() -> list[Finding]:
    try:
        return await model()
    finally:
        await close_models()
