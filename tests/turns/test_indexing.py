"""Workers index messages in the background."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid

from asgiref.sync import sync_to_async

from chat.models import Turn
from chat.turns.worker import close_pool, pool
from tests.live.site import Site
from tests.model_server import Reply, ScriptedModel

SOON = 8.0  # seconds: two, and room for a machine that has other work to do


async def found_within(site: Site, word: str, seconds: float) -> bool:
    """Whether the list of conversations finds the word in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if 'class="search-result"' in await site.page_at(f"/conversations/?q={word}"):
            return True
        await asyncio.sleep(0.05)
    return False


async def test_what_is_sent_is_found_while_its_turn_runs(site: Site, model_server: ScriptedModel) -> None:
    written = threading.Event()
    model_server.script(Reply(text="A wombat, and more", stall_after=2, gate=written))
    tab = await site.open(await site.conversation())
    await tab.send("Which one is a platypus?")
    await tab.said("accepted")
    assert await found_within(site, "platypus", SOON)
    assert not await found_within(site, "wombat", 0.1), "which is still being written"
    written.set()
    await tab.until_idle()
    assert await found_within(site, "wombat", SOON)
    assert not await Turn.objects.filter(unindexed_at__isnull=False).aexists()


async def test_what_a_worker_left_unindexed_the_next_one_finds(site: Site) -> None:
    await close_pool()
    conversation = await site.conversation()
    turn = await sync_to_async(conversation.start_turn)("Which one is a platypus?", uuid.uuid4())
    await sync_to_async(turn.request_stop)()
    assert not await found_within(site, "platypus", 0.1)
    pool().open()
    assert await found_within(site, "platypus", SOON)
