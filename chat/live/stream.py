"""Frames of a running turn for open tabs: coalesced, rendered from memory, numbered, published."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from html import unescape

from django.utils.safestring import SafeString, mark_safe

from chat.database import in_database
from chat.live.activity import Activity, ActivityLog
from chat.live.broadcast import (
    conversation_group,
    owner_group,
    publish,
    publish_board,
    publish_sidebar,
    whole_frame,
)
from chat.live.call_group import CallGroup, Row, belongs_to_group, grouped, latest_text
from chat.live.frames import (
    END,
    Change,
    ContextGrew,
    OutputShortened,
    PanelChanged,
    Position,
    RowChanged,
    TextGrew,
    TurnChanged,
    busy_message,
    context_message,
    frame,
    line_message,
    message,
    panel_frame,
    panel_message,
    partial,
    place_of,
    row_messages,
    row_plan_message,
    shortened_message,
    tail_of,
    text_frame,
    thought_line,
    thought_of,
)
from chat.live.markdown import MAX_BLOCK, Block, Settling, render_grown
from chat.live.regions import states_of
from chat.live.todo_panel import TodoPanel
from chat.models import Message, Summary, Turn

FRAME_INTERVAL = 0.08  # seconds of changes in one frame, while few turns stream; browsers paint each
CROWDED_INTERVAL = 0.15  # the same while CROWD turns stream; grows in proportion beyond
CROWD = 50
RENDER_SHARE = 10  # rendering may take at most 1/RENDER_SHARE of the processor time
FIRST_FRAME_DELAY = 0.1  # seconds at most that the first frame waits for the request to the model
MAX_DELAY = 1.0  # seconds at most that a change waits

# The tags that close the elements open at the end of some HTML.
CLOSING = re.compile(r"(?:</[a-z0-9]+>\s*)*\Z")
MAX_CLOSING = 100  # characters searched
TAG = re.compile(r"<(/?)([a-z0-9]+)[^>]*>")
VOID = ("br", "hr", "img")


class GrowingMessage:
    """A message that is still being written, as open tabs show it."""

    def __init__(self, row: Message, text: str, thought: int) -> None:
        self.row = row
        self.text = Settling(text, place_of(row))
        self.starts = [0]  # of the blocks since the latest saved text, the open one last
        self.blocks: list[Block] = []  # the settled ones of them
        self.tail = ""
        self.thought = thought  # characters of reasoning shown
        self.thought_ended = row.thought_for is not None
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
        """What to publish after growth: pairs of a selector to append text to, or "", and the content."""
        yield from self._append_thought()
        if self.row.thought_for is not None and not self.thought_ended:
            self.thought_ended = True
            summary = f"#{self.row.dom_id} > .reasoning > summary"
            yield "", partial(summary, "innerHTML", thought_line(self.row))
        if self.text.text != self.row.text:
            yield from self._append_text()
        if self.saved != (self.row.saved_text, self.row.saved_reasoning):
            if html := self._attach_saved():
                yield "", html
            self.saved = (self.row.saved_text, self.row.saved_reasoning)

    def _append_thought(self) -> Iterator[tuple[str, str]]:
        if text := self.row.reasoning[self.thought :]:
            self.thought = len(self.row.reasoning)
            yield f"#{self.row.dom_id}-thought[data-live]", text

    def _append_text(self) -> Iterator[tuple[str, str]]:
        """Add settled blocks and update the open end, with only the added text where that is possible."""
        before = self.tail
        self.text.text = self.row.text
        settled = self._advance()
        selector = f"#{self.row.dom_id}-tail[data-live]"
        depth, added = (0, "") if settled else appended(before, self.tail)
        if added:
            end = selector + " > :last-child" * depth
            yield ("", partial(end, "beforeend", _safe(added))) if "<" in added else (end, unescape(added))
            return
        html = partial(selector, "innerMorph", _safe(self.tail))
        if settled:
            html = partial(selector, "beforebegin", _safe(*(block.html for block in settled))) + html
        yield "", html

    def _attach_saved(self) -> str:
        """Make messages live that tabs have rendered from the rows, at the current or previous save."""
        bases = dict.fromkeys(map(self._base, (self.saved[0], self.row.saved_text)))
        html = "".join(map(self._attach_from, bases))
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
        """Where the open end begins when the first `saved` characters are rendered."""
        candidates = [start for start in self.starts if -1 < self.text.text.find("\n", start) < saved]
        return candidates[-1] if candidates else self.starts[0]

    def _attach_from(self, base: int) -> str:
        selector = f'#{self.row.dom_id}-tail[data-from="{base}"]:not([data-live])'
        settled = (block.html for block in self.blocks if block.start >= base)
        tail = tail_of(self.row, self.text.settled, self.tail, live=True)
        return partial(selector, "outerHTML", _safe(*settled, tail))


def _safe(*pieces: str) -> SafeString:
    return mark_safe("".join(pieces))  # noqa: S308 (from markdown)


def appended(before: str, after: str) -> tuple[int, str]:
    """The depth at which HTML was appended to `before`, and that HTML; (0, "") if it differs otherwise."""
    match = CLOSING.search(before[-MAX_CLOSING:])
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
    opened: list[str] = []
    for closes, name in TAG.findall(html):
        if not closes:
            opened += [] if name in VOID else [name]
        elif not opened or opened.pop() != name:
            return False
    return not opened


class TurnStream:
    """Publishes a turn's frames in order. Several changes of one row before a frame are rendered once."""

    running = 0  # number of turns streaming in this process

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.growing: dict[int, GrowingMessage] = {}
        self._rows: dict[str, RowChanged | TextGrew | OutputShortened] = {}
        self._panel: PanelChanged | None = None
        self._context: ContextGrew | None = None
        self._meter: ContextGrew | None = None  # the latest, shown or not
        self._whole = False
        self._group: CallGroup | None = None  # that the next call joins
        self._text: Message | None = None  # the latest one that is in no group, or closed it
        self._line = ""  # of that group, as tabs show it
        self._recorded: TodoPanel | None = None  # the latest list, until the board was told of it
        self._progress = (0, 0)  # of the plan, as sidebars show it
        self._log = ActivityLog()
        self._activity: Activity | None = None  # as tabs show it
        self._first_frame_due = asyncio.Event()  # the model was requested, or there is something else to show
        self._finishing = asyncio.Event()
        self._wait_until = 0.0
        self._timer: asyncio.Task[None] | None = None
        self._open = True
        TurnStream.running += 1

    async def show(self, changes: Iterable[Change]) -> None:
        """Queue changes; they are published within MAX_DELAY."""
        for change in changes:
            self._merge(change)
            if not isinstance(change, TurnChanged):
                self._first_frame_due.set()
        if self._has_pending and (self._timer is None or self._timer.done()):
            self._timer = asyncio.create_task(self._send_soon())

    async def finish(self) -> None:
        """Publish what is pending, then nothing more, even if that raises."""
        self._first_frame_due.set()
        self._finishing.set()
        try:
            if self._timer:
                await self._timer
        finally:
            await self.close()

    async def close(self) -> None:
        """Publish nothing more."""
        if self._open:
            self._open = False
            TurnStream.running -= 1
        if self._timer and not self._timer.done():
            self._timer.cancel()
            await asyncio.wait([self._timer])

    @property
    def _has_pending(self) -> bool:
        return bool(self._rows or self._panel or self._context or self._whole)

    def _merge(self, change: Change) -> None:
        match change:
            case RowChanged(row, new):
                self._note(row)
                before = self._rows.get(row.dom_id)
                unsent = isinstance(before, RowChanged) and before.new
                self._rows[row.dom_id] = RowChanged(row, new or unsent)
            case TextGrew(message):
                self._note(message)
                self._rows.setdefault(message.dom_id, change)
            case OutputShortened(call):
                self._rows[call.shortened_dom_id] = change
            case PanelChanged():
                self._panel = change
                if change.panel is None or not change.panel.is_draft:
                    self._recorded = change.panel
            case ContextGrew():
                self._context = self._meter = change
                self._log.note_step(change.step)
            case TurnChanged():
                self._whole = True

    def _note(self, row: Row) -> None:
        if not isinstance(row, Summary):
            self._log.note(row)

    async def _send_soon(self) -> None:
        if not self._first_frame_due.is_set():  # rendering would delay the request to the model
            with suppress(TimeoutError):
                await asyncio.wait_for(self._first_frame_due.wait(), FIRST_FRAME_DELAY)
            self._first_frame_due.set()
        while self._has_pending:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._finishing.wait(), max(0.0, self._wait_until - time.monotonic()))
            render_seconds = await (self._send_whole() if self._whole else self._send())
            crowded = TurnStream.running / CROWD
            pause = max(
                FRAME_INTERVAL + (CROWDED_INTERVAL - FRAME_INTERVAL) * crowded, RENDER_SHARE * render_seconds
            )
            self._wait_until = time.monotonic() + min(pause, MAX_DELAY)

    async def _send(self) -> float:
        """Publish the changes; returns the seconds of processor time that rendering took."""
        panel, self._panel = self._panel, None
        recorded, self._recorded = self._recorded, None
        await self._render_large()
        began = time.thread_time()
        contents = list(self._draw())
        render_seconds = time.thread_time() - began
        for selector, content in contents:
            position = self._next_position()
            await self._publish(
                text_frame(position, selector, content) if selector else frame(position, content)
            )
        if panel:
            revision = panel.panel.revision if panel.panel else 0
            await self._publish(panel_frame(self._next_position(), revision, panel_message(panel.panel)))
        if recorded:
            await self._publish_progress(recorded)
        return render_seconds

    async def _publish_progress(self, panel: TodoPanel) -> None:
        """Show how far the recorded plan is in the sidebar of every tab and on the board."""
        owner = self.turn.conversation.owner_id
        if self._progress != (panel.done, panel.total):
            self._progress = panel.done, panel.total
            await publish(owner_group(owner), message(row_plan_message(panel)))
        await publish_board(owner)

    async def _render_large(self) -> None:
        """Render large complete texts off the event loop; `render` caches their HTML."""
        for change in list(self._rows.values()):
            row = change.row if isinstance(change, RowChanged) else None
            if isinstance(row, Message) and row.complete and len(row.text) > MAX_BLOCK:
                shown = self.growing.get(row.pk)
                fits = shown and row.text.startswith(shown.text.text)
                text = shown.text if shown and fits else Settling(place=place_of(row))
                text.text = row.text
                await asyncio.to_thread(render_grown, text)

    async def _send_whole(self) -> float:
        """Render the whole turn from its rows: it began, ended, waits, or has a new status message."""
        shortened = [each.call for each in self._rows.values() if isinstance(each, OutputShortened)]
        context = self._context
        await self._render_large()
        list(self._draw())  # pending changes are in the rows, and growing texts are brought up to date
        panel, self._panel, self._whole = self._panel, None, False
        self._next_position()
        was_active = self.turn.is_active
        html = await in_database(self._whole_frame)
        if html:
            more = [context_message(context.meter, self.turn)] if context and self.turn.is_active else []
            await self._publish("".join([html, *map(shortened_message, shortened), *more]))
        if self.turn.is_active:
            self._panel = self._panel or panel  # drawn with the turn only after its end
        if not was_active or self.turn.status == Turn.Status.WAITING:
            await publish_sidebar(self.turn.conversation.owner_id)
        return 0.0  # rendered in a database thread

    def _whole_frame(self) -> str:
        turn = Turn.whole(self.turn.pk)
        # Read after the turn: if that has ended, the state has its list.
        state = states_of([self.turn.conversation_id]).get(self.turn.conversation_id)
        if turn is None or state is None:
            return ""
        self._activity = self._log.read(turn)
        parts = grouped(turn.rows())
        self._group = next((part for part in parts[-1:] if isinstance(part, CallGroup)), None)
        self._text = latest_text(parts)
        self._line = self._group.line if self._group else ""
        if self._meter:
            state.meter = self._meter.meter
        for row in turn.messages.all():
            if not row.complete and (shown := self.growing.get(row.pk)):
                row.text, row.reasoning = shown.text.text, shown.row.reasoning[: shown.thought]
                row.live = True
                self.growing[row.pk] = GrowingMessage(shown.row, row.text, shown.thought)
        number = self.turn.frame if turn.is_active else END
        return whole_frame(turn, Position(turn.pk, turn.fence, number), state)

    async def _publish(self, text: str) -> None:
        await publish(conversation_group(self.turn.conversation_id), message(text))

    def _draw(self) -> Iterator[tuple[str, str]]:
        """Render pending changes: pairs of a selector to append text to, or "", and the content."""
        rows, self._rows = self._rows, {}
        context, self._context = self._context, None
        for change in rows.values():
            if isinstance(change, TextGrew):
                yield from self._grow(change.message)
            elif isinstance(change, OutputShortened):
                yield "", shortened_message(change.call)
            else:
                yield from self._draw_row(change.row, new=change.new)
        changed = [change.row for change in rows.values() if isinstance(change, RowChanged)]
        if self._group and any(row in self._group for row in changed):
            yield from self._draw_line()
        if context:
            yield "", context_message(context.meter, self.turn)
        if self.turn.status == Turn.Status.RUNNING and not self.turn.status_message:
            activity, shown = self._log.now(), self._activity
            self._activity = activity
            if activity != shown:
                yield "", busy_message(self.turn, activity)

    def _draw_row(self, row: Row, *, new: bool) -> Iterator[tuple[str, str]]:
        if isinstance(row, Message):
            row.live = not row.complete
            self.growing.pop(row.pk, None)
            if row.live:
                self.growing[row.pk] = GrowingMessage(row, row.text, len(row.reasoning))
        if self._group and not isinstance(row, Summary) and row in self._group:
            self._group.put(row)
        if new and not (self._group and self._group.is_open_to(row)):
            yield from self._draw_line()  # of the group that ends here
        group = self._place(row) if new else None
        if group and len(group.rows) == 1:
            htmls = row_messages(group, new=True)
        else:
            htmls = row_messages(row, new=new, group=group)
        for html in htmls:
            yield "", html

    def _place(self, row: Row) -> CallGroup | None:
        """The group that the new row belongs to; None if it begins a new paragraph of the turn."""
        if self._group and self._group.is_open_to(row):
            self._group.put(row)
        elif not belongs_to_group(row):
            self._group = None
            self._text = row if isinstance(row, Message) else self._text
        else:
            self._text = latest_text(self._group.rows) if self._group else self._text
            self._group, self._line = CallGroup(row, self._text), ""
        return self._group

    def _draw_line(self) -> Iterator[tuple[str, str]]:
        """Render the line of the latest group if it has changed."""
        if self._group and self._group.line != self._line:
            self._line = self._group.line
            yield "", line_message(self._group)

    def _grow(self, row: Message) -> Iterator[tuple[str, str]]:
        if row.pk not in self.growing:
            yield from self._draw_row(row, new=False)
        else:
            yield from self.growing[row.pk].grow()

    def _next_position(self) -> Position:
        self.turn.frame += 1  # saved with the next renewal of the lease
        return Position(self.turn.pk, self.turn.fence, self.turn.frame)
