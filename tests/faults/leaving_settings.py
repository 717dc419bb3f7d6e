"""The site's settings, and a process that tells as it exits which of its tasks it leaves pending."""

import asyncio
import atexit

from daphne.server import twisted_loop

from agentsite.settings import *  # noqa: F403


def _tell() -> None:
    print(f"Left pending: {[task.get_name() for task in asyncio.all_tasks(twisted_loop)]}")  # noqa: T201


atexit.register(_tell)
