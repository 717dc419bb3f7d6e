"""Indexing for search, which workers do beside the turns."""

from __future__ import annotations

import asyncio
import logging
import time

from chat.database import in_database
from chat.search.index import catch_up, index_turn, marked_turns

log = logging.getLogger(__name__)

AT_A_TIME = 0.2  # seconds of work between which a worker rests as long
LOOK_EVERY = 60.0  # seconds


async def keep_indexed() -> None:
    """Index whatever is not, now and from time to time, until cancelled."""
    while True:
        began = time.monotonic()
        is_more = await _catch_up()
        await asyncio.sleep(time.monotonic() - began if is_more else LOOK_EVERY)


async def index_marked(after: float = 0.0) -> None:
    """Wait for so many seconds, then index what became final in turns. What fails stays marked."""
    await asyncio.sleep(after)
    try:
        marked = await in_database(marked_turns)
    except Exception as error:  # nothing but search depends on it
        log.warning("turns wait to be indexed: %r", error)
        return
    for turn in marked:
        try:
            await in_database(index_turn, turn)
        except Exception as error:
            log.warning("%s waits to be indexed: %r", turn, error)


async def _catch_up() -> bool:
    """Index for a moment; True if there is more to do. A database in trouble is asked again later."""
    try:
        is_more: bool = await in_database(catch_up, AT_A_TIME)
        return is_more
    except Exception as error:  # nothing but search depends on it
        log.warning("conversations wait to be indexed: %r", error)
        return False
