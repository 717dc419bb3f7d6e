"""What the open tabs see of one running turn: changes, joined for a moment, drawn, numbered and sent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import Any

from channels.db import database_sync_to_async

from chat.live.changes import (
    Change,
    ContextGrew,
    OutputShortened,
    PanelChanged,
    RowChanged,
    TextGrew,
    TurnChanged,
)
from chat.live.doorbell import ring_board, send_frame, send_key_frame, send_to
from chat.live.fragments import (
    Row,
    context_message,
    row_messages,
    shortened_message,
    text_message,
    thought_message,
)
from chat.live.frames import frame, key_frame, panel_frame
from chat.live.markdown import Settling
from chat.models import Message, Turn

JOIN = 0.05  # seconds for which changes are joined into one frame
SHARE = 10  # drawing may take one part in so many of the processor's time
LONGEST = 1.0  # seconds that a change waits at most
BEAT = 0.5  # seconds between signs of life


class Screen:
    """Sends a turn's frames one at a time, in order. What changes twice before it is sent is drawn once."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.count = 0
        self.texts: dict[int, Settling] = {}
        self.thoughts: dict[int, str] = {}  # reasoning, as far as it was told
        self._rows: dict[str, RowChanged | TextGrew | OutputShortened] = {}
        self._panel: PanelChanged | None = None
        self._context: ContextGrew | None = None
        self._whole = False
        self._wait_until = 0.0
        self._sending = asyncio.Lock()
        self._askers: set[str] = set()
        self._timer: asyncio.Task[None] | None = None
        self._beating = asyncio.create_task(self._beat())

    async def show(self, changes: Iterable[Change]) -> None:
        """Take changes in; they are on their way within a moment."""
        for change in changes:
            self._join(change)
        if self._has_news and (self._timer is None or self._timer.done()):
            self._timer = asyncio.create_task(self._send_soon())

    async def send_key_frame(self) -> None:
        """Send the turn whole to everybody."""
        async with self._sending:
            self._draw()  # what was waiting is in the rows, and texts are told up to now
            self.count += 1
            await send_key_frame(self.turn.conversation_id, await self._key_frame())

    async def answer(self, asker: str) -> None:
        """Send the turn whole to the channel `asker`, which then stands where all do.

        Many ask at once when a frame was lost on the way to many: they are answered with one drawing.
        """
        self._askers.add(asker)
        async with self._sending:
            askers, self._askers = self._askers, set()
            whole = await self._key_frame() if askers else {}
            for channel in askers:
                await send_to(channel, whole)

    async def _key_frame(self) -> dict[str, Any]:
        texts = {key: text.text for key, text in self.texts.items()}
        draw = database_sync_to_async(key_frame)
        whole: dict[str, Any] = await draw(self.turn, self.count, texts, dict(self.thoughts))
        return whole

    async def finish(self) -> None:
        """Send what is waiting, then nothing more, also where that raises."""
        try:
            if self._timer:
                await self._timer
        finally:
            await self.close()

    async def close(self) -> None:
        """Send nothing more."""
        for task in (self._beating, self._timer):
            if task and not task.done():
                task.cancel()
                await asyncio.wait([task])

    @property
    def _has_news(self) -> bool:
        return bool(self._rows or self._panel or self._context or self._whole)

    def _join(self, change: Change) -> None:
        match change:
            case RowChanged(row, new):
                before = self._rows.get(row.dom_id)
                unsent = isinstance(before, RowChanged) and before.new
                self._rows[row.dom_id] = RowChanged(row, new or unsent)
            case TextGrew(message):
                self._rows.setdefault(message.dom_id, change)
            case OutputShortened(call):
                self._rows[call.note_id] = change
            case PanelChanged():
                self._panel = change
            case ContextGrew():
                self._context = change
            case TurnChanged():
                self._whole = True

    async def _send_soon(self) -> None:
        while self._has_news:
            await asyncio.sleep(max(0.0, self._wait_until - time.monotonic()))
            if self._whole:
                await self.send_key_frame()
            else:
                await self._send()

    async def _send(self) -> None:
        async with self._sending:
            began = time.thread_time()
            panel = self._panel
            messages = self._draw()
            drawn_in = time.thread_time() - began
            self._wait_until = time.monotonic() + min(max(JOIN, SHARE * drawn_in), LONGEST)
            self.count += 1
            shown = panel_frame(panel.panel, panel.edited) if panel else {}
            await send_frame(self.turn.conversation_id, frame(self._position, messages) | shown)
            if panel:
                await ring_board(self.turn.conversation.owner_id)

    def _draw(self) -> list[str]:
        """The socket messages that show all that is waiting; then nothing is."""
        messages: list[str] = []
        for change in self._rows.values():
            if isinstance(change, TextGrew):
                messages += filter(None, [self._grow(change.message)])
            elif isinstance(change, OutputShortened):
                messages.append(shortened_message(change.call))
            else:
                messages += row_messages(change.row, new=change.new)
                self._start_text(change.row)
        if self._context:
            messages.append(context_message(self._context.meter))
        self._forget()
        return messages

    def _grow(self, message: Message) -> str:
        told = self.thoughts.get(message.pk, "")
        self.thoughts[message.pk] = message.reasoning
        thought = thought_message(message, message.reasoning[len(told) :])
        text = self.texts.setdefault(message.pk, Settling())
        if text.text == message.text:
            return thought
        text.text = message.text
        return thought + text_message(message, *text.advance())

    def _start_text(self, row: Row) -> None:
        """A message that was drawn whole is on the page with its settled blocks."""
        if isinstance(row, Message) and not row.complete:
            self.texts[row.pk] = Settling(row.text)
            self.texts[row.pk].advance()
            self.thoughts[row.pk] = row.reasoning

    def _forget(self) -> None:
        self._rows, self._panel, self._context, self._whole = {}, None, None, False

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT)
            beat: dict[str, Any] = {"type": "chat.beat", "position": list(self._position)}
            await send_frame(self.turn.conversation_id, beat)

    @property
    def _position(self) -> tuple[int, int, int]:
        return (self.turn.pk, self.turn.fence, self.count)
