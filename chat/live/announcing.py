"""Telling open tabs and workers what others than a turn's worker have changed."""

from __future__ import annotations

import uuid
from typing import Any

from asgiref.sync import async_to_sync
from channels.db import database_sync_to_async

from chat.live.doorbell import ring, ring_board, send_frame, send_key_frame, send_to_owner
from chat.live.frames import key_frame
from chat.models import Conversation, Turn


async def announce(turn: Turn) -> None:
    """Show a turn that waits or has ended in every tab, and tell the workers."""
    await _send(turn.conversation_id, await database_sync_to_async(key_frame)(turn, 0))


def announce_sync(turn: Turn) -> None:
    """The same from a page, on whose own connection the rows are read."""
    async_to_sync(_send)(turn.conversation_id, key_frame(turn, 0))


async def announce_beside(conversation_id: uuid.UUID) -> None:
    """Let every tab look what stands beside the turns: what is sent along might overtake something newer."""
    await send_frame(conversation_id, {"type": "chat.beside"})


async def announce_heading(conversation: Conversation) -> None:
    """Let every tab of the owner's look how this conversation is called, and its own who answers there."""
    hint = {"type": "chat.heading", "conversation": str(conversation.pk)}
    await send_to_owner(conversation.owner_id, hint)
    await ring_board(conversation.owner_id)


async def announce_organised(owner_id: int) -> None:
    """Let every tab of the person's look which conversations there are, in which order, and as what."""
    await send_to_owner(owner_id, {"type": "chat.organised"})
    await ring_board(owner_id)


async def _send(conversation_id: uuid.UUID, frame: dict[str, Any]) -> None:
    await send_key_frame(conversation_id, frame)
    await ring()
