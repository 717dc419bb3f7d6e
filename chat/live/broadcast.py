"""Notifications and frames over the channel layer. All are hints; the database rows are authoritative."""

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
from chat.live.frames import (
    Position,
    attachments_message,
    draw_turn,
    key_frame,
    message,
    partial,
    position_of,
)
from chat.live.regions import ConversationState, states_of
from chat.live.resync import drawn_regions
from chat.models import Conversation, Message, Turn

log = logging.getLogger(__name__)

AGENT_CHANNEL = "agent"
AGENTS_GROUP = "agents"
LAYER_TIMEOUT = 1.0  # seconds to wait for a channel layer that does not respond


def conversation_group(conversation_id: uuid.UUID) -> str:
    return f"conversation.{conversation_id.hex}"


def owner_group(owner_id: int) -> str:
    return f"owner.{owner_id}"


def board_group(owner_id: int) -> str:
    return f"board.{owner_id}"


async def notify_workers() -> None:
    await _send_or_log(get_channel_layer().send(AGENT_CHANNEL, {"type": "turn.run"}))


async def notify_stop(turn_id: int) -> None:
    await _send_or_log(get_channel_layer().group_send(AGENTS_GROUP, {"type": "turn.stop", "turn": turn_id}))


async def publish(group: str, message: dict[str, Any]) -> None:
    """Send a message to every socket of a group. If it is lost, pages resync within seconds."""
    measures.frames.inc()
    await _send_or_log(get_channel_layer().group_send(group, message))


async def send_to_sockets_of(user_id: int, message: dict[str, Any]) -> None:
    await _send_or_log(get_channel_layer().group_send(owner_group(user_id), message))


async def send_to(channel: str, message: dict[str, Any]) -> None:
    await _send_or_log(get_channel_layer().send(channel, message))


async def channel_layer_responds() -> bool:
    layer = get_channel_layer()
    try:
        await _round_trip(lambda channel: layer.send(channel, {"type": "ready"}))
    except Exception as error:
        measures.layer_errors.inc()
        log.warning("the channel layer does not answer: %r", error)
        return False
    return True


async def worker_responds(timeout: float = LAYER_TIMEOUT) -> bool:
    """Whether a worker answers within `timeout` seconds."""
    layer = get_channel_layer()
    try:
        await _round_trip(
            lambda channel: layer.send(AGENT_CHANNEL, {"type": "agent.ping", "reply": channel}), timeout
        )
    except Exception as error:
        log.warning("no worker answers: %r", error)
        return False
    return True


async def _round_trip(ask: Callable[[str], Awaitable[None]], timeout: float = LAYER_TIMEOUT) -> None:
    """Call `ask` with a new channel's name, and return when something arrives on it."""
    async with asyncio.timeout(timeout):
        channel = await get_channel_layer().new_channel("asked")
        received = asyncio.Event()
        listening = asyncio.create_task(_listen(channel, received))
        try:
            await ask(channel)
            await received.wait()
        finally:
            listening.cancel()  # cancelled within receive(), which makes the layer drop the channel


async def _listen(channel: str, received: asyncio.Event) -> None:
    while True:
        await get_channel_layer().receive(channel)
        received.set()


async def _send_or_log(sending: Any) -> None:
    try:
        async with asyncio.timeout(LAYER_TIMEOUT):
            await sending
    except Exception as error:  # whatever it raises, pages resync from the rows
        measures.layer_errors.inc()
        log.warning("sending to the channel layer failed: %r", error)


PICKUP_DELAY = 0.2  # seconds within which a worker with room claims a turn
OWNER_REGIONS = ("board_link", "sidebar")
TURN_REGIONS = ("approval", "unfinished", "follow_ups", "status")  # regions that depend on the turn's status
END_REGIONS = ("panel", "meter", "files_button")  # regions that depend on its end


async def publish_new_turn(turn: Turn, owner_id: int) -> None:
    """Notify workers of a new turn; show it as queued if none publishes a frame within PICKUP_DELAY."""
    await notify_workers()
    await publish_sidebar(owner_id)
    await asyncio.sleep(PICKUP_DELAY)
    if await in_database(Turn.objects.filter(pk=turn.pk, status=Turn.Status.QUEUED).exists):
        await publish_turn(turn)


async def publish_turn(turn: Turn) -> None:
    """Publish a turn that waits or has ended, and notify the workers."""
    await _publish_whole_turn(turn.conversation_id, *await in_database(whole_turn, turn))


def publish_turn_sync(turn: Turn) -> None:
    """`publish_turn` for views, reading the rows on the view's own connection."""
    async_to_sync(_publish_whole_turn)(turn.conversation_id, *whole_turn(turn))


async def publish_regions(conversation_id: uuid.UUID, *names: str) -> None:
    """Have every tab on the conversation redraw these regions."""
    await publish(conversation_group(conversation_id), {"type": "regions.changed", "regions": list(names)})


def publish_attachments_sync(conversation_id: uuid.UUID, path: str) -> None:
    """Have every tab on the conversation redraw the files of the messages that this one came with."""
    here = Message.objects.filter(turn__conversation=conversation_id, turn__on_path=True)
    messages = here.filter(attachments__path=path).distinct()
    drawn = [attachments_message(each) for each in messages.select_related("turn__conversation")]
    if drawn:
        async_to_sync(publish)(conversation_group(conversation_id), message("".join(drawn)))


async def publish_path(conversation: Conversation) -> None:
    """Have every tab on the conversation ask for what it lacks: its path has changed."""
    # Drawn in any case: a page that asked after the path had changed may have it from before the files did.
    await publish_regions(conversation.pk, "files_button")
    await publish(conversation_group(conversation.pk), {"type": "resync"})
    await publish_sidebar(conversation.owner_id)


async def publish_sidebar(owner_id: int, *more: str) -> None:
    """Have all of the user's tabs redraw the sidebar and, where they have them, `more`; the board resyncs."""
    await publish(owner_group(owner_id), {"type": "regions.changed", "regions": [*OWNER_REGIONS, *more]})
    await publish_board(owner_id)


async def publish_board(owner_id: int) -> None:
    await publish(board_group(owner_id), {"type": "resync"})


async def publish_heading(conversation: Conversation) -> None:
    """Publish a changed title (which has a cost, on the meter) or profile."""
    await publish_regions(conversation.pk, "title", "meter", "profile")
    await publish_sidebar(conversation.owner_id)


def whole_turn(turn: Turn) -> tuple[int | None, str]:
    """The owner's id and the frame that draws the turn; None and "" if it was deleted. Reads the database.

    No frame if a worker has claimed it by now: that publishes its own, which this one would overtake.
    """
    read = Turn.whole(turn.pk)
    state = states_of([turn.conversation_id]).get(turn.conversation_id)
    if read is None or state is None:
        return None, ""
    is_running = read.status == Turn.Status.RUNNING
    return state.owner.owner_id, "" if is_running else whole_frame(read, position_of(read), state)


def whole_frame(turn: Turn, position: Position, state: ConversationState) -> str:
    """The frame that draws a turn, read with its rows, and the regions that depend on it."""
    drawn = partial(f"#turn-{turn.pk}", "outerMorph", draw_turn(turn))
    if state.row.turn_pk == turn.pk:
        state.draws_turn = True
        state.row.turn_status = turn.status  # or the page could be idle while its turn is drawn as running
        regions = drawn_regions(state, TURN_REGIONS if turn.is_active else TURN_REGIONS + END_REGIONS)
        return key_frame(position, state.row.turn_previous or 0, drawn + regions)
    # A later turn has begun; its frame contains the other regions.
    if not turn.is_active:
        drawn += drawn_regions(state, END_REGIONS)
    path = Turn.objects.filter(conversation=turn.conversation_id, on_path=True)
    earlier = path.filter(pk__lt=turn.pk).order_by("-pk")
    return key_frame(position, next(iter(earlier.values_list("pk", flat=True)[:1]), 0), drawn)


async def _publish_whole_turn(conversation_id: uuid.UUID, owner_id: int | None, frame: str) -> None:
    if frame:
        await publish(conversation_group(conversation_id), message(frame))
    if owner_id is not None:
        await publish_sidebar(owner_id)
    await notify_workers()
