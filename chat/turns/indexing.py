"""Background indexing for search, in workers."""

from __future__ import annotations

import asyncio
import logging
import time

from chat.database import in_database
from chat.search.index import catch_up, index_turn, marked_turns

log = logging.getLogger(__name__)

BATCH_SECONDS = 0.2  # seconds of work, followed by an equal pause
CHECK_INTERVAL = 60.0  # seconds


async def keep_indexed() -> None:
    while True:
        began = time.monotonic()
        is_more = await _catch_up()
        await asyncio.sleep(time.monotonic() - began if is_more else CHECK_INTERVAL)


async def index_marked(after: float = 0.0) -> None:
    """Wait `after` seconds, then index finished rows of turns. Turns that fail stay marked."""
    await asyncio.sleep(after)
    try:
        marked = await in_database(marked_turns)
    except Exception as error:  # only search depends on it
        log.warning("indexing turns failed, will be retried: %r", error)
        return
    for turn in marked:
        try:
            await in_database(index_turn, turn)
        except Exception as error:
            log.warning("%s waits to be indexed: %r", turn, error)


async def _catch_up() -> bool:
    """Index for a moment; returns whether there is more to do."""
    try:
        is_more: bool = await in_database(catch_up, BATCH_SECONDS)
        return is_more
    except Exception as error:  # only search depends on it
        log.warning("indexing conversations failed, will be retried: %r", error)
        return False
