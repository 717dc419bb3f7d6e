"""What a conversation has left to do, where nothing works on it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from chat.models import Conversation, Turn

QUIET = (Turn.Status.COMPLETED, Turn.Status.STOPPED)  # after a bad end the turn itself offers how to go on


@dataclass(frozen=True)
class Unfinished:
    """So many items of the last list are open, and the person may say how to go on."""

    conversation_id: uuid.UUID
    left: int
    total: int


def unfinished_of(conversation: Conversation) -> Unfinished | None:
    """What is left; None while the agent works, after a bad end, and where nothing is. Reads the database."""
    left = conversation.todos_left
    last = conversation.turns.order_by("pk").last()
    revision = conversation.revision() if left and last and last.status in QUIET else None
    return Unfinished(conversation.pk, left, revision.total) if revision else None
