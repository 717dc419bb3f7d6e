"""Doorbells and frames over the channel layer: hints all, for the rows are the truth."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from channels.layers import get_channel_layer

from chat import measures

log = logging.getLogger(__name__)

AGENT_CHANNEL = "agent"
AGENTS_GROUP = "agents"
PATIENCE = 1.0  # seconds that a layer in trouble may hold anybody up


def conversation_group(conversation_id: uuid.UUID) -> str:
    """The group of every socket that is open on a conversation."""
    return f"conversation.{conversation_id.hex}"


def owner_group(owner_id: int) -> str:
    """The group of every socket that a person has open, on whichever conversation."""
    return f"owner.{owner_id}"


def board_group(owner_id: int) -> str:
    """The group of every socket that is open on a person's board."""
    return f"board.{owner_id}"


async def ring() -> None:
    """Tell the workers that a turn is waiting."""
    await _try(get_channel_layer().send(AGENT_CHANNEL, {"type": "turn.run"}))


async def ring_stop(turn_id: int) -> None:
    """Tell the workers that a turn is to stop."""
    await _try(get_channel_layer().group_send(AGENTS_GROUP, {"type": "turn.stop", "turn": turn_id}))


async def publish(group: str, message: dict[str, Any]) -> None:
    """Send a message to every socket of a group. One that is lost costs seconds: pages ask what they lack."""
    measures.frames.inc()
    await _try(get_channel_layer().group_send(group, message))


async def send_to_sockets_of(user_id: int, message: dict[str, Any]) -> None:
    """Send a message to every socket that the user has open, on conversations and on the board."""
    for group in (owner_group(user_id), board_group(user_id)):
        await _try(get_channel_layer().group_send(group, message))


async def send_to(channel: str, frame: dict[str, Any]) -> None:
    """Send a frame to one socket."""
    await _try(get_channel_layer().send(channel, frame))


async def answers() -> bool:
    """Whether the channel layer passes a message on."""
    layer = get_channel_layer()
    try:
        await _echo(lambda channel: layer.send(channel, {"type": "ready"}))
    except Exception as error:
        measures.layer_errors.inc()
        log.warning("the channel layer does not answer: %r", error)
        return False
    return True


async def workers_answer() -> bool:
    """Whether a worker, in this process or another, takes what is sent to it."""
    layer = get_channel_layer()
    try:
        await _echo(lambda channel: layer.send(AGENT_CHANNEL, {"type": "agent.ping", "reply": channel}))
    except Exception as error:
        log.warning("no worker answers: %r", error)
        return False
    return True


async def _echo(ask: Callable[[str], Awaitable[None]]) -> None:
    """Ask with the name of a new channel, and return once something came over it."""
    async with asyncio.timeout(PATIENCE):
        channel = await get_channel_layer().new_channel("asked")
        heard = asyncio.Event()
        listening = asyncio.create_task(_listen(channel, heard))
        try:
            await ask(channel)
            await heard.wait()
        finally:
            listening.cancel()  # within a receive, which is what has a layer forget the channel


async def _listen(channel: str, heard: asyncio.Event) -> None:
    while True:
        await get_channel_layer().receive(channel)
        heard.set()


async def _try(sending: Any) -> None:
    try:
        async with asyncio.timeout(PATIENCE):
            await sending
    except Exception as error:  # whatever a layer raises, screens heal from the rows
        measures.layer_errors.inc()
        log.warning("the channel layer did not take a message: %r", error)
