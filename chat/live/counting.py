"""Plans are counted as their turns end, in nobody's place and with nobody waiting for it."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid

from chat.live.about import about
from chat.live.database import in_database
from chat.models import Conversation, PlanCount, Turn
from chat.plan.figures import count

log = logging.getLogger(__name__)


async def count_turn(turn: Turn) -> None:
    """Count the plans of the turn's conversation. What is missed here, the next who looks makes up for."""
    about(turn)
    await _count(turn.conversation_id)


async def count_missed() -> None:
    """Count what was never counted, or in another way: after a crash, an import, an upgrade."""
    try:
        behind = await in_database(_behind)
    except Exception as error:  # a database that is away comes back
        log.warning("whether plans are counted is not known: %r", error)
        return
    for conversation_id in behind:
        began = time.monotonic()
        await _count(conversation_id)
        await asyncio.sleep(time.monotonic() - began)  # after an upgrade there are many, and turns come first


async def _count(conversation_id: uuid.UUID) -> None:
    try:
        await in_database(count, conversation_id)
    except Exception as error:  # nothing but a page of figures depends on it
        log.warning("the plans of conversation %s are not counted: %r", conversation_id, error)


def _behind() -> list[uuid.UUID]:
    """Those that moved last first."""
    behind = PlanCount.behind(Conversation.objects.all()).order_by("-updated_at")
    return list(behind.values_list("pk", flat=True))
