"""A socket on one conversation: takes messages in, hands frames out, and sees to it that none is missing."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.utils.translation import gettext as _

from chat.live import measures
from chat.live.announcing import announce, announce_follow_ups
from chat.live.doorbell import ask_snapshot, conversation_group
from chat.live.fragments import follow_ups_message
from chat.live.frames import END, Position, lacking, messages_of, surroundings
from chat.models import Conversation, FollowUp, MessageRefused, Turn

LOOK = 0.5  # seconds between the watchdog's looks
SILENCE = 3.0  # seconds without a sign of life from a turn that should be live
IDLE = 10.0  # seconds between looks for a turn that nobody told of
MAX_FRAME = 256 * 1024  # characters of one incoming frame

CLOSE_NOT_FOUND = 4404


class ChatConsumer(AsyncWebsocketConsumer):
    """Speaks with one open tab."""

    conversation: Conversation

    async def connect(self) -> None:
        """Let the conversation's owner in: join first, then send all that the page lacks."""
        self.after = _whole(self.scope["query_string"])
        self.position: Position = (0, 0, 0)
        self.live = False
        self.held: list[int] = []
        self.asked_at = 0.0
        self.heard_at = time.monotonic()
        self.watching: asyncio.Task[None] | None = None
        found = await database_sync_to_async(self._find)()
        if found is None:
            await self.accept()  # only a socket that was open can tell its page why it closes
            await self.close(code=CLOSE_NOT_FOUND)
            return
        self.conversation = found
        await self.channel_layer.group_add(conversation_group(found.pk), self.channel_name)
        await self.accept()
        await self._send_snapshot()
        self.watching = asyncio.create_task(self._watch())
        measures.open_sockets.inc()

    async def disconnect(self, code: int) -> None:
        """Leave the group. Whatever runs goes on running."""
        if self.watching:
            self.watching.cancel()
            measures.open_sockets.dec()
            group = conversation_group(self.conversation.pk)
            await self.channel_layer.group_discard(group, self.channel_name)

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Frames are many and need no database, so they skip the look after old connections."""
        if message["type"] == "chat.frame":
            await self.chat_frame(message)
        else:
            await super().dispatch(message)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """A message of the person: take it, or say why not."""
        try:
            text, client_id = _read(text_data)
        except ValueError as error:
            await self._send_json(type="error", message=str(error))
            return
        if await database_sync_to_async(self._find)() is None:
            await self.close(code=CLOSE_NOT_FOUND)
            return
        await self._take(text, client_id)

    async def chat_frame(self, frame: dict[str, Any]) -> None:
        """Pass a frame on if it is the next one; a gap asks for the turn whole."""
        position: Position = tuple(frame["position"])
        self.heard_at = time.monotonic()
        if position <= self.position and not frame["key"]:
            return
        if frame["key"]:
            if position[0] > self.position[0] and self.position[2] != END:
                await self._send_snapshot()  # the end of the turn before was lost
            elif position >= self.position:
                await self._pass_on(position, frame["messages"])
        elif position == (*self.position[:2], self.position[2] + 1) and not self.asked_at:
            await self._pass_on(position, frame["messages"])
        else:
            await self._ask(position[0])

    async def chat_beat(self, beat: dict[str, Any]) -> None:
        """A turn lives; if it is ahead of this tab, or other messages are held, frames were lost."""
        position: Position = tuple(beat["position"])
        self.heard_at = time.monotonic()
        if position > self.position:
            self.live = True
            await self._ask(position[0])
        if beat["held"] not in (self.held, None):
            await self.chat_follow_ups(beat)

    async def chat_follow_ups(self, _hint: dict[str, Any]) -> None:
        """Messages are held, or no longer: look which."""
        self.held = await database_sync_to_async(FollowUp.held_pks)(self.conversation.pk)
        await self.send(text_data=await database_sync_to_async(follow_ups_message)(self.conversation))

    async def _take(self, text: str, client_id: uuid.UUID) -> None:
        try:
            taken = await database_sync_to_async(self.conversation.send)(text, client_id)
        except MessageRefused as refusal:
            await self._send_json(type="refused", client_id=str(client_id), message=str(refusal))
            return
        kind = "follow_up" if isinstance(taken, FollowUp) else "turn"
        await self._send_json(type="accepted", client_id=str(client_id), **{kind: taken.pk})
        if isinstance(taken, FollowUp):
            await announce_follow_ups(self.conversation.pk)
        else:
            await announce(taken)

    async def _send_snapshot(self) -> None:
        """Send all that the page lacks, a turn at a time, so that no whole conversation is in memory."""
        position, turns, active = await database_sync_to_async(lacking)(self.conversation, self.after)
        for turn_id in turns:
            await self._pass_on(position, await database_sync_to_async(messages_of)(turn_id))
        await self._pass_on(position, [await database_sync_to_async(surroundings)(self.conversation)])
        self.live = active is not None
        if active and active.is_held:
            await self._ask(active.pk)

    async def _pass_on(self, position: Position, messages: list[str]) -> None:
        self.position = position
        self.asked_at = 0.0
        self.live = position[2] != END
        for message in messages:
            await self.send(text_data=message)

    async def _ask(self, turn_id: int) -> None:
        """Ask the worker for a key frame, once a second at most; until it comes, frames are let go."""
        now = time.monotonic()
        if now - self.asked_at >= 1:
            self.asked_at = now
            await ask_snapshot(turn_id, self.channel_name)

    async def _watch(self) -> None:
        """Look into the database when a live turn has gone silent, and now and then when all is idle."""
        while True:
            await asyncio.sleep(LOOK)
            if time.monotonic() - self.heard_at >= (SILENCE if self.live else IDLE):
                self.heard_at = time.monotonic()
                await self._look()

    async def _look(self) -> None:
        found = await database_sync_to_async(self._find)()
        if found is None:
            await self.close(code=CLOSE_NOT_FOUND)
        elif await database_sync_to_async(self._has_news)():
            await self._send_snapshot()
        elif await database_sync_to_async(FollowUp.held_pks)(found.pk) != self.held:
            await self.chat_follow_ups({})

    def _find(self) -> Conversation | None:
        """The conversation, if the person at the other end is still signed in and may see it."""
        user = self.scope["user"]
        session = self.scope.get("session")
        if not user.is_authenticated or (session is not None and not session.exists(session.session_key)):
            return None
        user.refresh_from_db()
        visible = Conversation.objects.visible_to(user) if user.is_active else Conversation.objects.none()
        return visible.filter(pk=self.scope["url_route"]["kwargs"]["conversation_id"]).first()

    def _has_news(self) -> bool:
        if not self.live:
            return self.conversation.turns.filter(pk__gt=max(self.position[0], self.after)).exists()
        _position, _turns, active = lacking(self.conversation, self.after)
        # One that waits for a decision changes only together with its fence.
        waits = active if active and active.status == Turn.Status.WAITING else None
        return waits is None or (waits.pk, waits.fence) != self.position[:2]

    async def _send_json(self, **content: Any) -> None:
        await self.send(text_data=json.dumps(content))


def _whole(query: bytes) -> int:
    """The number in `after=N`; 0 for anything else."""
    name, _equals, value = query.decode("latin-1").partition("=")
    return int(value) if name == "after" and value.isdecimal() and len(value) < 19 else 0


def _read(data: str | None) -> tuple[str, uuid.UUID]:
    """Text and client id of an incoming frame; raises ValueError with a sentence."""
    if data is None or len(data) > MAX_FRAME:
        raise ValueError(_("This frame is not a message: it must be a JSON object of at most 256 KiB."))
    try:
        content = json.loads(data)
        text = content["text"]
        client_id = uuid.UUID(content["client_id"]) if "client_id" in content else uuid.uuid4()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ValueError(
            _("This frame is not a message: it must be a JSON object with a text and a client_id.")
        ) from None
    if not isinstance(text, str):
        raise ValueError(_("The text of a message must be a string."))
    return text, client_id
