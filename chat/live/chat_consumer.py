"""The socket of a conversation's page: takes messages, forwards frames, answers resyncs."""

from __future__ import annotations

import asyncio
import uuid
from functools import partial
from typing import Any

from django.db import DatabaseError
from django.utils.translation import gettext as _

from chat.database import in_database
from chat.live.broadcast import (
    conversation_group,
    owner_group,
    publish_new_turn,
    publish_regions,
    publish_sidebar,
)
from chat.live.page_consumer import (
    CLOSE_NOT_FOUND,
    PageConsumer,
    batched_heartbeats,
    batched_states,
    parse_message,
    parse_seen,
)
from chat.live.regions import ConversationState, comparable_states_of, states_of
from chat.live.resync import (
    Have,
    Lacking,
    drawn_path,
    drawn_regions,
    drawn_turn,
    lacking,
    turns_after,
)
from chat.live.socket_auth import authorized_conversation
from chat.models import Conversation, FollowUp, MessageRefused

publishing: set[asyncio.Task[None]] = set()


class ChatConsumer(PageConsumer):
    conversation: Conversation
    states = batched_states(comparable_states_of)
    drawings = batched_states(states_of)
    heartbeats = batched_heartbeats(comparable_states_of)

    async def admit(self) -> bool:
        conversation = await in_database(authorized_conversation, self.scope)
        if conversation is not None:
            self.conversation, self.key, self.user_id = conversation, conversation.pk, conversation.owner_id
        return conversation is not None

    def groups_to_join(self) -> list[str]:
        return [conversation_group(self.conversation.pk), owner_group(self.conversation.owner_id)]

    async def handle(self, content: dict[str, Any]) -> None:
        """Handle a user's message, or the page's report; raises ValueError with a message for the user."""
        match content.get("type", "message"):
            case "message":
                await self._receive_message(*parse_message(content))
            case "seen":
                await self._mark_seen(parse_seen(content))
            case _:
                await super().handle(content)

    def lacking(self, state: ConversationState, have: Have) -> Lacking:
        return lacking(state, have)

    async def send_lacking(self, state: ConversationState, have: Have, lacks: Lacking) -> None:
        """Send one turn at a time, so that the whole conversation is never in memory."""
        if lacks.path:
            await self.send(
                text_data=await in_database(state.render_cache, "path", partial(drawn_path, state))
            )
        elif lacks.turns:
            for key in await in_database(turns_after, state, have):
                drawing = in_database(state.render_cache, ("turn", key), partial(drawn_turn, state, key))
                if frame := await drawing:
                    await self.send(text_data=frame)
        draw = partial(drawn_regions, state, lacks.regions)
        if html := await in_database(state.render_cache, lacks.regions, draw):
            await self.send(text_data=html)

    async def _mark_seen(self, turn_id: int) -> None:
        if await in_database(self.conversation.mark_seen, turn_id):
            await publish_sidebar(self.conversation.owner_id)

    async def _receive_message(self, text: str, client_id: uuid.UUID) -> None:
        try:
            if await self.admit():
                await self._send_message(text, client_id)
            else:
                await self.close(code=CLOSE_NOT_FOUND)
        except DatabaseError:  # it may have been saved; the page repeats it on its next socket
            text = _("Can't save right now. Retrying.")
            await self.send_json(type="later", client_id=str(client_id), message=text)
            raise

    async def _send_message(self, text: str, client_id: uuid.UUID) -> None:
        archived = self.conversation.archived
        try:
            sent = await in_database(self.conversation.send, text, client_id)
        except MessageRefused as refusal:
            await self.send_json(type="refused", client_id=str(client_id), message=str(refusal))
            return
        except Conversation.DoesNotExist:
            await self.close(code=CLOSE_NOT_FOUND)
            return
        kind = "follow_up" if isinstance(sent, FollowUp) else "turn"
        await self.send_json(type="accepted", client_id=str(client_id), **{kind: sent.pk})
        if archived:
            await publish_regions(self.conversation.pk, "organised")
        if isinstance(sent, FollowUp):
            await publish_regions(self.conversation.pk, "follow_ups")
        else:
            task = asyncio.create_task(publish_new_turn(sent, self.user_id))  # goes on when the socket closes
            publishing.add(task)
            task.add_done_callback(publishing.discard)
