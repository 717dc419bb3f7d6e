"""Doorbells and frames over the channel layer: hints all, for the rows are the truth."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer

from chat import measures
from chat.database import in_database
from chat.live.frames import Position, draw_turn, key_frame, message, partial, position_of
from chat.live.regions import ConversationState, states_of
from chat.live.resync import drawn_regions
from chat.models import Conversation, Turn

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


async def notify_workers() -> None:
    """Tell the workers that a turn is waiting."""
    await _try(get_channel_layer().send(AGENT_CHANNEL, {"type": "turn.run"}))


async def notify_stop(turn_id: int) -> None:
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


async def channel_layer_responds() -> bool:
    """Whether the channel layer passes a message on."""
    layer = get_channel_layer()
    try:
        await _echo(lambda channel: layer.send(channel, {"type": "ready"}))
    except Exception as error:
        measures.layer_errors.inc()
        log.warning("the channel layer does not answer: %r", error)
        return False
    return True


async def worker_responds() -> bool:
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


PICK_UP = 0.2  # seconds within which a worker with a place takes up a turn
OF_OWNER = ("board_link", "sidebar")
OF_TURN = ("approval", "unfinished", "follow_ups", "status")  # the regions that a turn's status decides
OF_END = ("panel", "meter")  # and those that its end does


async def publish_new_turn(turn: Turn, owner_id: int) -> None:
    """Tell the workers of a turn that was sent just now. The first frame is its worker's; if none takes the
    turn up within a moment, it is shown as queued.
    """
    await notify_workers()
    await publish_sidebar(owner_id)
    await asyncio.sleep(PICK_UP)
    if await in_database(Turn.objects.filter(pk=turn.pk, status=Turn.Status.QUEUED).exists):
        await publish_turn(turn)


async def publish_turn(turn: Turn) -> None:
    """Show a turn that waits or has ended in every tab, and tell the workers."""
    await _send(turn.conversation_id, *await in_database(whole_turn, turn))


def publish_turn_sync(turn: Turn) -> None:
    """The same from a view, on whose own connection the rows are read."""
    async_to_sync(_send)(turn.conversation_id, *whole_turn(turn))


async def publish_regions(conversation_id: uuid.UUID, *names: str) -> None:
    """Have every tab on the conversation draw these regions again."""
    await publish(conversation_group(conversation_id), {"type": "regions.changed", "regions": list(names)})


async def publish_sidebar(owner_id: int, *more: str) -> None:
    """Have every tab of the user draw its sidebar again, and `more` regions; and have the board look."""
    await publish(owner_group(owner_id), {"type": "regions.changed", "regions": [*OF_OWNER, *more]})
    await publish_board(owner_id)


async def publish_board(owner_id: int) -> None:
    """Have the user's open boards look what changed."""
    await publish(board_group(owner_id), {"type": "resync"})


async def publish_heading(conversation: Conversation) -> None:
    """A conversation has another title, whose price is on the meter, or another profile."""
    await publish_regions(conversation.pk, "title", "meter", "profile")
    await publish_sidebar(conversation.owner_id)


def whole_turn(turn: Turn) -> tuple[int | None, str]:
    """Whose turn it is, and the frame that draws it as its rows have it. Reads the database.

    None and nothing if the turn was deleted.
    """
    read = Turn.whole(turn.pk)
    state = states_of([turn.conversation_id]).get(turn.conversation_id)
    if read is None or state is None:
        return None, ""
    return state.owner.owner_id, whole_frame(read, position_of(read), state)


def whole_frame(turn: Turn, position: Position, state: ConversationState) -> str:
    """The frame that draws a turn, which was read with its rows, and the regions that depend on it."""
    drawn = partial(f"#turn-{turn.pk}", "outerMorph", draw_turn(turn))
    if state.row.turn_pk == turn.pk:
        state.draws_turn = True
        state.row.turn_status = turn.status  # or the page might rest while its turn is drawn as running
        regions = drawn_regions(state, OF_TURN if turn.is_active else OF_TURN + OF_END)
        return key_frame(position, state.row.turn_previous or 0, drawn + regions)
    # Another turn has begun since: its frame brings the regions.
    earlier = Turn.objects.filter(conversation=turn.conversation_id, pk__lt=turn.pk).order_by("-pk")
    return key_frame(position, next(iter(earlier.values_list("pk", flat=True)[:1]), 0), drawn)


async def _send(conversation_id: uuid.UUID, owner_id: int | None, frame: str) -> None:
    if owner_id is not None:
        await publish(conversation_group(conversation_id), message(frame))
        await publish_sidebar(owner_id)
    await notify_workers()
