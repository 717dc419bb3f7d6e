"""What open tabs see of one running turn: changes, joined for a moment, drawn from memory, numbered and
published.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from html import unescape

from django.utils.safestring import SafeString, mark_safe

from chat.database import in_database
from chat.live.broadcast import conversation_group, publish, publish_board, publish_sidebar, whole_frame
from chat.live.frames import (
    END,
    Change,
    ContextGrew,
    OutputShortened,
    PanelChanged,
    Position,
    Row,
    RowChanged,
    TextGrew,
    TurnChanged,
    context_message,
    frame,
    message,
    panel_frame,
    panel_message,
    partial,
    row_messages,
    shortened_message,
    tail_of,
    text_frame,
    thought_of,
)
from chat.live.markdown import MAX_BLOCK, Block, Settling, render
from chat.live.regions import states_of
from chat.models import Message, Turn

JOIN = 0.05  # seconds for which changes are joined into one frame, while few turns stream
CROWDED_JOIN = 0.15  # the same while A_CROWD turns stream, and longer in proportion while more do
A_CROWD = 50
SHARE = 10  # drawing may take one part in so many of the processor's time
BEGIN = 0.1  # seconds that the first frame of a turn waits at most for the request to the model
LONGEST = 1.0  # seconds that a change waits at most

# The tags that close the elements open at the end of some HTML.
CLOSING = re.compile(r"(?:</[a-z0-9]+>\s*)*\Z")
LONGEST_CLOSING = 100  # characters of it that are looked at
TAG = re.compile(r"<(/?)([a-z0-9]+)[^>]*>")
VOID = ("br", "hr", "img")


class Growing:
    """A message that is being written, as the tabs have it."""

    def __init__(self, row: Message, text: str, thought: int) -> None:
        self.row = row
        self.text = Settling(text)
        self.starts = [0]  # of the blocks, the open one last, from the latest saved text on
        self.blocks: list[Block] = []  # those of them that have settled
        self.tail = ""
        self.thought = thought  # characters of the reasoning that are shown
        self.saved = (row.saved_text, row.saved_reasoning)
        self._advance()

    def _advance(self) -> list[Block]:
        settled, self.tail = self.text.advance()
        self.blocks += settled
        self.starts += [block.start for block in settled if block.start > self.starts[-1]]
        if self.text.settled > self.starts[-1]:
            self.starts.append(self.text.settled)
        return settled

    def grow(self) -> Iterator[tuple[str, str]]:
        """What to publish, now that the row has more: pairs of a selector to append text to, or "", and
        the content.
        """
        yield from self._think()
        if self.text.text != self.row.text:
            yield from self._write()
        if self.saved != (self.row.saved_text, self.row.saved_reasoning):
            if html := self._join():
                yield "", html
            self.saved = (self.row.saved_text, self.row.saved_reasoning)

    def _think(self) -> Iterator[tuple[str, str]]:
        if piece := self.row.reasoning[self.thought :]:
            self.thought = len(self.row.reasoning)
            yield f"#{self.row.dom_id}-thought[data-live]", piece

    def _write(self) -> Iterator[tuple[str, str]]:
        """Add settled blocks, and bring the open end up to date: where it merely grew, by the added
        text alone.
        """
        before = self.tail
        self.text.text = self.row.text
        settled = self._advance()
        place = f"#{self.row.dom_id}-tail[data-live]"
        depth, added = (0, "") if settled else appended(before, self.tail)
        if added:
            end = place + " > :last-child" * depth
            yield ("", partial(end, "beforeend", _safe(added))) if "<" in added else (end, unescape(added))
            return
        html = partial(place, "innerMorph", _safe(self.tail))
        if settled:
            html = partial(place, "beforebegin", _safe(*(block.html for block in settled))) + html
        yield "", html

    def _join(self) -> str:
        """What makes live a message that a tab has drawn from the rows, as they were saved before or
        just now.
        """
        bases = dict.fromkeys(map(self._base, (self.saved[0], self.row.saved_text)))
        html = "".join(map(self._since, bases))
        thoughts = dict.fromkeys((self.saved[1], self.row.saved_reasoning)) if self.row.reasoning else {}
        html += "".join(
            partial(
                f'#{self.row.dom_id}-thought[data-from="{length}"]:not([data-live])',
                "outerHTML",
                thought_of(self.row, length, self.row.reasoning[length:], live=True),
            )
            for length in thoughts
        )
        base = self._base(self.row.saved_text)
        self.starts = [start for start in self.starts if start >= base]
        self.blocks = [block for block in self.blocks if block.start >= base]
        return html

    def _base(self, saved: int) -> int:
        """Where the open end begins in a drawing of so much of the text."""
        begun = [start for start in self.starts if -1 < self.text.text.find("\n", start) < saved]
        return begun[-1] if begun else self.starts[0]

    def _since(self, base: int) -> str:
        place = f'#{self.row.dom_id}-tail[data-from="{base}"]:not([data-live])'
        settled = (block.html for block in self.blocks if block.start >= base)
        tail = tail_of(self.row, self.text.settled, self.tail, live=True)
        return partial(place, "outerHTML", _safe(*settled, tail))


def _safe(*pieces: str) -> SafeString:
    return mark_safe("".join(pieces))  # noqa: S308 (from markdown)


def appended(before: str, after: str) -> tuple[int, str]:
    """What some HTML has more at its end than it had, and how many elements deep; empty if it differs."""
    match = CLOSING.search(before[-LONGEST_CLOSING:])
    tags = re.findall(r"<[^<]+", match[0]) if match else []
    for depth in range(len(tags), 0, -1):
        closing = "".join(tags[-depth:])
        head = before.removesuffix(closing)
        if after.startswith(head) and after.endswith(closing):
            added = after[len(head) : len(after) - len(closing)]
            if is_whole(added):
                return depth, added
    return 0, ""


def is_whole(html: str) -> bool:
    """Whether the elements that begin in some HTML end there, and no others."""
    opened: list[str] = []
    for closes, name in TAG.findall(html):
        if not closes:
            opened += [] if name in VOID else [name]
        elif not opened or opened.pop() != name:
            return False
    return not opened


class TurnStream:
    """Publishes a turn's frames in order, one at a time. What changes twice before that is drawn once."""

    running = 0  # turns that stream in this process

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.growing: dict[int, Growing] = {}
        self._rows: dict[str, RowChanged | TextGrew | OutputShortened] = {}
        self._panel: PanelChanged | None = None
        self._context: ContextGrew | None = None
        self._meter: ContextGrew | None = None  # the latest that was known, shown or not
        self._whole = False
        self._asked = asyncio.Event()  # a model, or there is something else to see
        self._wait_until = 0.0
        self._timer: asyncio.Task[None] | None = None
        self._open = True
        TurnStream.running += 1

    async def show(self, changes: Iterable[Change]) -> None:
        """Take changes in; they are on their way within a moment."""
        for change in changes:
            self._join(change)
            if not isinstance(change, TurnChanged):
                self._asked.set()
        if self._has_news and (self._timer is None or self._timer.done()):
            self._timer = asyncio.create_task(self._send_soon())

    async def finish(self) -> None:
        """Send what is waiting, then nothing more, also where that raises."""
        self._asked.set()
        try:
            if self._timer:
                await self._timer
        finally:
            await self.close()

    async def close(self) -> None:
        """Send nothing more."""
        if self._open:
            self._open = False
            TurnStream.running -= 1
        if self._timer and not self._timer.done():
            self._timer.cancel()
            await asyncio.wait([self._timer])

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
                self._context = self._meter = change
            case TurnChanged():
                self._whole = True

    async def _send_soon(self) -> None:
        if not self._asked.is_set():  # drawing would delay the request to the model
            with suppress(TimeoutError):
                await asyncio.wait_for(self._asked.wait(), BEGIN)
            self._asked.set()
        while self._has_news:
            await asyncio.sleep(max(0.0, self._wait_until - time.monotonic()))
            drawn_in = await (self._send_whole() if self._whole else self._send())
            crowded = TurnStream.running / A_CROWD
            pause = max(JOIN + (CROWDED_JOIN - JOIN) * crowded, SHARE * drawn_in)
            self._wait_until = time.monotonic() + min(pause, LONGEST)

    async def _send(self) -> float:
        """Send what changed; returns the seconds of the processor's time that drawing it took."""
        panel, self._panel = self._panel, None
        await self._render_large()
        began = time.thread_time()
        pieces = list(self._draw())
        drawn_in = time.thread_time() - began
        for selector, content in pieces:
            here = self._next()
            await self._publish(text_frame(here, selector, content) if selector else frame(here, content))
        if panel:
            revision = panel.panel.revision if panel.panel else 0
            await self._publish(panel_frame(self._next(), revision, panel_message(panel.panel)))
            await publish_board(self.turn.conversation.owner_id)
        return drawn_in

    async def _render_large(self) -> None:
        """Render large texts that are complete off the event loop; drawing them then finds their HTML."""
        for change in list(self._rows.values()):
            row = change.row if isinstance(change, RowChanged) else None
            if isinstance(row, Message) and row.complete and len(row.text) > MAX_BLOCK:
                await asyncio.to_thread(render, row.text)

    async def _send_whole(self) -> float:
        """Draw the turn whole from its rows: it began, ended, waits, or has something to say."""
        shortened = [each.call for each in self._rows.values() if isinstance(each, OutputShortened)]
        context = self._context
        await self._render_large()
        list(self._draw())  # what was waiting is in the rows, and texts are told up to now
        panel, self._panel, self._whole = self._panel, None, False
        self._next()
        was_active = self.turn.is_active
        html = await in_database(self._whole_frame)
        if html:
            more = [context_message(context.meter, self.turn)] if context and self.turn.is_active else []
            await self._publish("".join([html, *map(shortened_message, shortened), *more]))
        if self.turn.is_active:
            self._panel = self._panel or panel  # which is drawn with the turn only when that has ended
        if not was_active or self.turn.status == Turn.Status.WAITING:
            await publish_sidebar(self.turn.conversation.owner_id)
        return 0.0  # of the event loop's thread

    def _whole_frame(self) -> str:
        state = states_of([self.turn.conversation_id]).get(self.turn.conversation_id)
        turn = Turn.whole(self.turn.pk)
        if turn is None or state is None:
            return ""
        if self._meter:
            state.meter = self._meter.meter
        for row in turn.messages.all():
            if not row.complete and (shown := self.growing.get(row.pk)):
                row.text, row.reasoning = shown.text.text, shown.row.reasoning[: shown.thought]
                row.live = True
                self.growing[row.pk] = Growing(shown.row, row.text, shown.thought)
        number = self.turn.frame if turn.is_active else END
        return whole_frame(turn, Position(turn.pk, turn.fence, number), state)

    async def _publish(self, text: str) -> None:
        await publish(conversation_group(self.turn.conversation_id), message(text))

    def _draw(self) -> Iterator[tuple[str, str]]:
        """What shows all that is waiting: pairs of a selector to append text to, or "", and the content."""
        rows, self._rows = self._rows, {}
        context, self._context = self._context, None
        for change in rows.values():
            if isinstance(change, TextGrew):
                yield from self._grow(change.message)
            elif isinstance(change, OutputShortened):
                yield "", shortened_message(change.call)
            else:
                yield from self._draw_row(change.row, new=change.new)
        if context:
            yield "", context_message(context.meter, self.turn)

    def _draw_row(self, row: Row, *, new: bool) -> Iterator[tuple[str, str]]:
        if isinstance(row, Message):
            row.live = not row.complete
            self.growing.pop(row.pk, None)
            if row.live:
                self.growing[row.pk] = Growing(row, row.text, len(row.reasoning))
        for html in row_messages(row, new=new):
            yield "", html

    def _grow(self, row: Message) -> Iterator[tuple[str, str]]:
        if row.pk not in self.growing:
            yield from self._draw_row(row, new=False)
        else:
            yield from self.growing[row.pk].grow()

    def _next(self) -> Position:
        self.turn.frame += 1  # written with the next renewal of the lease
        return Position(self.turn.pk, self.turn.fence, self.turn.frame)
