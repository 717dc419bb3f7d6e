"""A socket on a person's board: draws what changed, told by hints and, where those are lost, by looks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import Any

from channels.db import database_sync_to_async
from django.utils.translation import gettext as _

from chat.live import measures
from chat.live.admission import signed_in
from chat.live.board import filled
from chat.live.board_drawings import board_message
from chat.live.doorbell import board_group
from chat.live.incoming import content_of, digest_of, receipt_of
from chat.live.outline import Outline, outline_of
from chat.live.page_socket import PageSocket
from chat.live.rounds import Rounds
from chat.live.sidebar import Sidebar

JOIN = 0.2  # seconds for which changes are joined into one drawing
RESYNC = 0.2  # seconds between boards that a page asks for whole, at least


class BoardConsumer(PageSocket):
    """Speaks with one tab that shows a board."""

    owner_id: int
    admit = staticmethod(signed_in)

    async def connect(self) -> None:
        """Let the person in: join first, then send the board as it stands."""
        self.outline: Outline | None = None
        self.drawn_at = 0.0
        person = await self.let_in()
        if person is None:
            return
        self.owner_id = person.pk
        self.sidebar = Sidebar(person.pk)
        await self.channel_layer.group_add(board_group(self.owner_id), self.channel_name)
        await self.accept()
        await self._draw_whole()
        boards.join(self)
        measures.open_sockets.inc()

    async def disconnect(self, code: int) -> None:
        """Leave the group."""
        if self in boards.tabs:
            boards.leave(self)
            measures.open_sockets.dec()
            await self.channel_layer.group_discard(board_group(self.owner_id), self.channel_name)
        self.leave_off()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """The page's word on what has arrived, or on what it came with."""
        try:
            content = content_of(text_data)
            if "at" in content:
                await self._hear(*receipt_of(content))
            elif "sidebar" in content:
                self.sidebar.hear(digest_of(content))
            else:
                raise ValueError(_("Nothing can be sent from here. Open a conversation, and write there."))
        except ValueError as error:
            await self.send_json(type="error", message=str(error))

    async def board_changed(self, _hint: dict[str, Any]) -> None:
        """Something on the board may be otherwise: look, once for all that happens within a moment."""
        self.mend(self._draw_soon)

    def see(self, outline: Outline) -> None:
        """Compare how the board stands with what the page was sent, and send what it lacks."""
        if self.is_to_be_checked:
            self.mend(self.check)
        elif outline != self.outline or outline.attention != self.sidebar.attention:
            self.mend(self._draw_soon)
        elif self.numbering.mark():
            self.mend(self.mark)

    async def _draw_soon(self) -> None:
        await asyncio.sleep(JOIN)
        async with self.speaking:
            await self._draw_lacking()

    async def _draw_lacking(self) -> None:
        drawing = await database_sync_to_async(self._drawing)()
        await self.draw_all([drawing] if drawing else [])

    def _drawing(self) -> str:
        outline = outline_of(self.owner_id)
        shown, self.outline = self.outline, outline
        sections = "" if outline == shown else board_message(filled(outline), shown)
        return sections + self.sidebar.message(outline.attention)

    async def _hear(self, at: int, after: int | None) -> None:
        """The page has the drawings up to number `at`; it says `after` if it lacks any."""
        self.numbering.arrived = at
        if after is None:
            return
        measures.resyncs.inc()
        async with self.speaking:
            missed = self.numbering.since(at)
            for message in missed:
                await self.send(text_data=message)
            # A page that asks twice is answered once.
            if not missed and time.monotonic() - self.drawn_at >= RESYNC and await self.is_let_in():
                await self._draw_anew()
            await self.mark()

    async def _draw_whole(self) -> None:
        async with self.speaking:
            await self._draw_anew()

    async def _draw_anew(self) -> None:
        self.drawn_at = time.monotonic()
        self.outline = self.sidebar.attention = None
        self.numbering.begin_anew()
        await self._draw_lacking()


class Boards(Rounds[BoardConsumer]):
    """Tells the open boards how they stand: each person's once, however many tabs show it."""

    async def look(self) -> None:
        """See how all of them stand."""
        outlines = await database_sync_to_async(_outlines_of)({tab.owner_id for tab in self.tabs})
        for tab in list(self.tabs):
            if tab.owner_id in outlines:
                tab.see(outlines[tab.owner_id])


boards = Boards()


def _outlines_of(owners: Iterable[int]) -> dict[int, Outline]:
    return {owner: outline_of(owner) for owner in owners}
