"""Plan figures are counted by the page that shows them; a worker catches up as it starts."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid

from chat.database import in_database
from chat.models import Conversation, PlanCount
from chat.plan.figures import count

log = logging.getLogger(__name__)


async def count_missed() -> None:
    """Count what was never counted, or in another way: after a crash, an import, an upgrade."""
    try:
        behind = await in_database(_behind)
    except Exception as error:  # a database that is away comes back
        log.warning("whether plans are counted is not known: %r", error)
        return
    for conversation_id in behind:
        began = time.monotonic()
        try:
            await in_database(count, conversation_id)
        except Exception as error:  # nothing but a page of figures depends on it
            log.warning("the plans of conversation %s are not counted: %r", conversation_id, error)
        await asyncio.sleep(time.monotonic() - began)  # after an upgrade there are many, and turns come first


def _behind() -> list[uuid.UUID]:
    """Those that moved last first."""
    behind = PlanCount.behind(Conversation.objects.all()).order_by("-updated_at")
    return list(behind.values_list("pk", flat=True))
