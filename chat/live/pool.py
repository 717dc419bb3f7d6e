"""The turns that this process works on: as many as it may, claimed from the database."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Coroutine
from weakref import WeakSet

from channels.db import database_sync_to_async
from django.conf import settings

from chat.live import measures
from chat.live.counting import count_missed, count_turn
from chat.live.deleted import overdue, remove_deleted, stop_deleted
from chat.live.doorbell import send_key_frame
from chat.live.frames import key_frame
from chat.live.naming import name_conversation
from chat.live.run_turn import RunningTurn
from chat.live.screen import Screen
from chat.models import LeaseLost, Turn, end_unanswered, take_back_orphans, worker
from chat.models.lookout import Lookout

log = logging.getLogger(__name__)

ROUND = 2.0  # seconds between looks at the database
GRACE = 2.0  # seconds for writing down that a turn is handed over


class Pool:
    """Claims turns while there is room; outlives the consumer that rings it, which Channels may replace."""

    def __init__(self) -> None:
        self.worker = worker.new_name()
        self.lookout = Lookout()
        self.running: dict[int, tuple[RunningTurn[Screen], asyncio.Task[None]]] = {}
        self.naming: set[asyncio.Task[None]] = set()
        self.counting: set[asyncio.Task[None]] = set()
        self._cancelled: WeakSet[asyncio.Task[None]] = WeakSet()
        self.closing = False
        self._claiming = asyncio.Lock()
        self._rounds: asyncio.Task[None] | None = None
        self._removing: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Begin to look for work, and go on looking."""
        if self._rounds is None:
            _beside(count_missed(), self.counting)
        if self._rounds is None or self._rounds.done():
            self._rounds = asyncio.create_task(self._make_rounds())

    async def kick(self) -> None:
        """Claim what is waiting, as far as there is room."""
        async with self._claiming:
            while not self.closing and len(self.running) < settings.MAX_TURNS:
                turn = await database_sync_to_async(Turn.claim)(self.worker)
                if turn is None:
                    return
                self._start(turn)

    def stop(self, turn_id: int) -> None:
        """Stop the turn at once if it runs here, because the person wants it so."""
        self._cancel(turn_id, Turn.Status.STOPPED)

    async def send_snapshot(self, turn_id: int, reply: str) -> None:
        """Send a key frame of the turn to one socket, if it runs here."""
        if turn_id in self.running:
            await self.running[turn_id][0].screen.answer(reply)

    async def drain(self) -> None:
        """Claim nothing more, let what runs finish for a while, then hand the rest over."""
        self.closing = True
        await self._wait(settings.DRAIN_SECONDS)
        for turn_id in self.running:
            self._cancel(turn_id, Turn.Status.QUEUED)
        await self._wait(GRACE)
        if self.counting:
            await asyncio.wait(self.counting, timeout=GRACE)
        for task in [*self.naming, *self.counting, *filter(None, [self._rounds, self._removing])]:
            task.cancel()

    def _cancel(self, turn_id: int, status: Turn.Status) -> None:
        """Cancel the turn's task if it runs here, once: again would tear it out of telling how it ended."""
        running, task = self.running.get(turn_id, (None, None))
        if running and task and task not in self._cancelled:
            self._cancelled.add(task)
            running.cancelled_as = status
            task.cancel()

    async def _wait(self, seconds: float) -> None:
        tasks = [task for _running, task in self.running.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)

    def _start(self, turn: Turn) -> None:
        if turn.fence == 1 and turn.started_at:
            waited = turn.started_at - turn.created_at  # by two machines' clocks, perhaps
            measures.queue_wait.observe(max(0.0, waited.total_seconds()))
        running = RunningTurn(turn, Screen(turn))
        # A fresh context: nothing of the request or consumer that rang belongs to the turn.
        task = asyncio.create_task(running.run(), context=contextvars.Context())
        self.running[turn.pk] = (running, task)
        task.add_done_callback(lambda _task: self._ended(turn))

    def _ended(self, turn: Turn) -> None:
        self.running.pop(turn.pk, None)
        if not self.closing:
            self._follow_up = asyncio.create_task(self.kick())
            _beside(count_turn(turn), self.counting)
            if turn.status == Turn.Status.COMPLETED:
                _beside(name_conversation(turn), self.naming)

    async def _make_rounds(self) -> None:
        while True:
            try:
                await self._round()
            except Exception:  # a database that is away comes back
                log.exception("the worker's round failed; it goes on")
            await asyncio.sleep(ROUND)

    async def _round(self) -> None:
        for running, _task in list(self.running.values()):
            try:
                await database_sync_to_async(running.turn.hold)()
            except LeaseLost:
                if running.turn.is_held:  # else it ended or began to wait just now, here
                    self._cancel(running.turn.pk, Turn.Status.QUEUED)
        await database_sync_to_async(stop_deleted)()
        for turn_id in await database_sync_to_async(self._stop_requests)():
            self.stop(turn_id)
        for turn in await database_sync_to_async(take_back_orphans)(self.lookout):
            log.warning("%s was left by its worker", turn)
            await self._show(turn)
        for turn in await database_sync_to_async(end_unanswered)(settings.APPROVAL_SECONDS):
            await self._show(turn)
        await self._tidy()
        await self.kick()

    async def _tidy(self) -> None:
        """Begin to remove what was deleted a while ago, if nothing of that is under way."""
        if self._removing and not self._removing.done():
            return
        if keys := await database_sync_to_async(overdue)():
            self._removing = asyncio.create_task(remove_deleted(keys), context=contextvars.Context())

    async def _show(self, turn: Turn) -> None:
        frame = await database_sync_to_async(key_frame)(turn, 0)
        await send_key_frame(turn.conversation_id, frame)

    def _stop_requests(self) -> list[int]:
        wanted = Turn.objects.filter(pk__in=list(self.running), stop_requested_at__isnull=False)
        return list(wanted.values_list("pk", flat=True))


def _beside(work: Coroutine[None, None, None], tasks: set[asyncio.Task[None]]) -> None:
    """Let something be done in nobody's place; it is among `tasks` until it is."""
    task = asyncio.create_task(work, context=contextvars.Context())
    tasks.add(task)
    task.add_done_callback(tasks.discard)
