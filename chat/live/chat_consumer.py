"""A socket on one conversation: takes messages in, hands frames out, and sees to it that none is missing."""

from __future__ import annotations

import asyncio
import time
import uuid
from functools import partial
from typing import Any

from channels.db import database_sync_to_async
from django.db import DatabaseError
from django.utils.translation import gettext as _

from chat.live import measures
from chat.live.admission import admitted
from chat.live.announcing import announce, announce_beside, announce_organised
from chat.live.beside import Beside, look_beside
from chat.live.doorbell import ask_snapshot, conversation_group, owner_group, ring_board
from chat.live.frames import END, Position, drawn, end_of_page, lacking, resting_place, row_beside
from chat.live.incoming import content_of, digest_of, message_of, receipt_of, seen_of, turn_after
from chat.live.page_socket import Mending, PageSocket
from chat.live.sidebar import Sidebar
from chat.live.standing import Overview, Standing
from chat.live.together import Together
from chat.models import Conversation, FollowUp, MessageRefused, Turn

SILENCE = 1.2  # seconds without a sign of life from a turn that should be live
ANSWER = 1.0  # seconds that a worker has to send a turn whole
ON_ITS_WAY = 0.2  # seconds for which what a page lacks may yet arrive by itself
RESYNC = 0.2  # seconds between snapshots that a page asks for, at least

overview = Overview()
ends: Together[tuple[Turn | None, list[str], Beside]] = Together()
looks: Together[tuple[Beside, list[str]]] = Together()


class ChatConsumer(PageSocket):
    """Speaks with one open tab."""

    conversation: Conversation
    admit = staticmethod(admitted)

    async def connect(self) -> None:
        """Let the conversation's owner in: join first, then send all that the page lacks."""
        self.after = turn_after(self.scope["query_string"])
        self.position: Position = (0, 0, 0)
        self.ahead: int | None = None
        self.beside = Beside()
        self.live = False
        self.asked_at = self.asked_first_at = self.sent_at = 0.0
        self.heard_at = time.monotonic()
        found = await self.let_in()
        if found is None:
            return
        self.conversation = found
        self.sidebar = Sidebar(found.owner_id, found)
        for group in self._groups():
            await self.channel_layer.group_add(group, self.channel_name)
        await self.accept()
        await self._begin_anew()
        overview.join(self)
        measures.open_sockets.inc()

    async def disconnect(self, code: int) -> None:
        """Leave the group. Whatever runs goes on running."""
        if self in overview.tabs:
            overview.leave(self)
            measures.open_sockets.dec()
            for group in self._groups():
                await self.channel_layer.group_discard(group, self.channel_name)
        self.leave_off()

    def _groups(self) -> list[str]:
        return [conversation_group(self.conversation.pk), owner_group(self.conversation.owner_id)]

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Frames are many and need no database, so they skip the look after old connections."""
        if message["type"] == "chat.frame":
            await self.chat_frame(message)
        else:
            await super().dispatch(message)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """A message of the person: take it, or say why not. Or the page's word on what has arrived."""
        try:
            content = content_of(text_data)
            if "at" in content:
                await self._hear(*receipt_of(content))
                return
            if "seen" in content:
                await self._see(seen_of(content))
                return
            if "sidebar" in content:
                self.sidebar.hear(digest_of(content))
                return
            text, client_id = message_of(content)
        except ValueError as error:
            await self.send_json(type="error", message=str(error))
            return
        try:
            if await self.is_let_in():
                await self._take(text, client_id)
        except DatabaseError:  # perhaps it was taken: the page sends it again, over its next socket
            sentence = _("The site cannot write anything down at the moment. It is sent again by itself.")
            await self.send_json(type="later", client_id=str(client_id), message=sentence)
            raise

    async def chat_frame(self, frame: dict[str, Any]) -> None:
        """Pass a frame on if it is the next one; a gap asks for the turn whole."""
        position: Position = tuple(frame["position"])
        self.heard_at = time.monotonic()
        async with self.speaking:
            if frame["key"]:
                await self._pass_key_frame(position, frame)
            elif position == (*self.position[:2], self.position[2] + 1) and not self.asked_at:
                await self._pass_on(position, [*frame["messages"], *self._panel_in(frame)])
            elif position > self.position:
                await self._ask(position[0])

    def _panel_in(self, frame: dict[str, Any]) -> list[str]:
        """The panel that a frame brings, unless this tab shows one that the person has changed since."""
        return [frame["panel"]] if frame.get("edited", -1) >= self.beside.edited else []

    async def _pass_key_frame(self, position: Position, frame: dict[str, Any]) -> None:
        begins = position[0] > self.position[0]
        if begins and (self.position[2] != END or self.position[0] != frame["previous"]):
            await self._send_snapshot()  # the end of the turn before was lost, or all of it
        elif position > self.position or (position == self.position and self.asked_at):
            self.beside, self.ahead = Beside.told(frame["beside"]), None
            await self._pass_on(position, frame["messages"])

    async def chat_beat(self, beat: dict[str, Any]) -> None:
        """A turn lives; if it is ahead of this tab, frames were lost."""
        position: Position = tuple(beat["position"])
        self.heard_at = time.monotonic()
        if position > self.position:
            self.live = True
            await self._ask(position[0])

    async def chat_beside(self, _hint: dict[str, Any]) -> None:
        """Something beside the turns is otherwise: look what."""
        async with self.speaking:
            await self._send_beside()

    async def _send_beside(self) -> None:
        shown = self.beside
        draw = partial(database_sync_to_async(self._draw_beside), shown)
        beside, messages = await looks((self.conversation.pk, shown), draw)
        await self.draw_all(messages)
        self.beside = beside

    def _draw_beside(self, shown: Beside) -> tuple[Beside, list[str]]:
        beside, held = look_beside(self.conversation)
        return beside, beside.messages(self.conversation, held, shown)

    async def chat_heading(self, hint: dict[str, Any]) -> None:
        """One of the person's conversations is called otherwise, or another profile answers there: look."""
        conversation_id = uuid.UUID(hint["conversation"])
        async with self.speaking:
            if conversation_id == self.conversation.pk:
                await self._send_beside()
            else:
                self.sidebar.suspect()
                await self.draw_all(
                    await database_sync_to_async(row_beside)(self.conversation, conversation_id)
                )

    async def _see(self, turn_id: int) -> None:
        """The person looks at the conversation, with the turns up to that one."""
        if await database_sync_to_async(self.conversation.see)(turn_id):
            await ring_board(self.conversation.owner_id)

    async def chat_organised(self, _hint: dict[str, Any]) -> None:
        """The person has pinned, archived, tagged or deleted conversations: look how they stand now."""
        async with self.speaking:
            await self._send_beside()
            self.sidebar.hear("")
            await self.draw_all(await database_sync_to_async(self.sidebar.news)())

    async def _take(self, text: str, client_id: uuid.UUID) -> None:
        try:
            taken = await database_sync_to_async(self.conversation.send)(text, client_id)
        except MessageRefused as refusal:
            await self.send_json(type="refused", client_id=str(client_id), message=str(refusal))
            return
        kind = "follow_up" if isinstance(taken, FollowUp) else "turn"
        await self.send_json(type="accepted", client_id=str(client_id), **{kind: taken.pk})
        if self.beside.archived:
            await announce_organised(self.conversation.owner_id)
        if isinstance(taken, FollowUp):
            await announce_beside(self.conversation.pk)
        else:
            await announce(taken)

    async def _hear(self, at: int, after: int | None) -> None:
        """The page has the drawings up to number `at`; if it lacks any, it has the turns up to `after`."""
        async with self.speaking:
            self.numbering.arrived = at
            if at == self.numbering.latest and self.position[2] == END:
                self.after = max(self.after, self.position[0])
            if after is not None:
                self.after = max(self.after, after)
                await self._resync(at)

    async def _resync(self, at: int) -> None:
        measures.resyncs.inc()
        missed = self.numbering.since(at)
        for message in missed:
            await self.send(text_data=message)
        # A page that asks twice is answered once.
        if not missed and time.monotonic() - self.sent_at >= RESYNC and await self.is_let_in():
            await self._send_snapshot()
        await self.mark()

    async def _send_snapshot(self) -> None:
        """Send all that the page lacks, a turn at a time, so that no whole conversation is in memory.

        Its end is drawn once for all tabs that want it: what one of them has lost many have.
        """
        last, turns = await database_sync_to_async(self._survey)()
        self.numbering.begin_anew()
        for turn_id in turns[:-1]:
            _turn, messages = await database_sync_to_async(drawn)(turn_id)
            for message in messages:
                await self.draw(message)
        # It may have ended since, and what has ended on a page may not come to life again there.
        last_id, lacks = last.pk if last else 0, bool(turns)
        draw = partial(database_sync_to_async(end_of_page), self.conversation, last_id, lacking=lacks)
        last, messages, self.beside = await ends((self.conversation.pk, last_id, lacks), draw)
        await self._pass_on(resting_place(last), messages)
        self.heard_at = self.sent_at = time.monotonic()
        if last and last.is_held:
            await self._ask(last.pk)

    def _survey(self) -> tuple[Turn | None, list[int]]:
        last, turns = lacking(self.conversation, self.after)
        self.ahead = last.ahead if last and last.status == Turn.Status.QUEUED else None
        return last, turns

    async def _pass_on(self, position: Position, messages: list[str]) -> None:
        self.position = position
        self.asked_at = 0.0
        self.live = position[2] != END
        for message in messages:
            await self.draw(message)
        if messages and position[2] == END:
            await self.mark()  # nothing may follow that would show that this was lost

    async def _ask(self, turn_id: int) -> None:
        """Ask the worker for a key frame, now and then; until it comes, frames are let go."""
        now = time.monotonic()
        if not self.asked_at:
            self.asked_first_at = now
        if now - self.asked_at >= ANSWER / 3:
            self.asked_at = now
            await ask_snapshot(turn_id, self.channel_name)

    def see(self, standing: Standing) -> None:
        """Compare how the conversation stands with what the page was sent, and send what it lacks."""
        self.mend(self._needed(standing))

    def _needed(self, standing: Standing) -> Mending | None:
        now = time.monotonic()
        if not standing.exists or self.is_to_be_checked:
            return self.check
        silent = standing.is_held and self.live and now - self.heard_at >= SILENCE
        if silent or (self.asked_at and now - self.asked_first_at >= ANSWER):
            return self._begin_anew
        if self._is_behind(standing) or standing.beside != self.beside:
            return partial(self._catch_up, standing)
        if standing.attention != self.sidebar.attention:
            return self._send_news
        return self.mark if self.numbering.mark() else None

    async def _begin_anew(self) -> None:
        async with self.speaking:
            await self._send_snapshot()

    async def _catch_up(self, standing: Standing) -> None:
        await asyncio.sleep(ON_ITS_WAY)
        async with self.speaking:
            if self._is_behind(standing):
                await self._send_snapshot()
                return
            if standing.beside != self.beside:
                await self._send_beside()

    async def _send_news(self) -> None:
        async with self.speaking:
            await self.draw_all(await database_sync_to_async(self.sidebar.news)())

    def _is_behind(self, standing: Standing) -> bool:
        return standing.position > self.position or standing.ahead not in (None, self.ahead)
