"""The turns that this process works on: as many as it may, claimed from the database."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
import uuid
from collections.abc import Coroutine
from typing import Any
from weakref import WeakSet

from django.conf import settings
from django.db.models import F, Q

from chat import measures
from chat.database import in_database
from chat.live.broadcast import announce
from chat.live.stream import TurnStream
from chat.models import Conversation, PlanCount, Turn, end_unanswered, turn_recovery
from chat.models.turn_recovery import LeaseMonitor, orphans, take_back_all
from chat.plan.plan_stats import count
from chat.turns.deleted import overdue, remove_deleted, stop_deleted
from chat.turns.indexing import index_marked
from chat.turns.naming import name_conversation
from chat.turns.run_turn import RunningTurn

log = logging.getLogger(__name__)


async def count_missed() -> None:
    """Count what was never counted, or in another way: after a crash, an import, an upgrade."""
    try:
        behind = await in_database(_behind)
    except Exception as error:  # a database that is away comes back
        log.warning("whether plans are counted is not known: %r", error)
        return
    for conversation_id in behind:
        began = time.monotonic()
        try:
            await in_database(count, conversation_id)
        except Exception as error:  # nothing but a page of figures depends on it
            log.warning("the plans of conversation %s are not counted: %r", conversation_id, error)
        await asyncio.sleep(time.monotonic() - began)  # after an upgrade there are many, and turns come first


def _behind() -> list[uuid.UUID]:
    """Those that moved last first."""
    behind = PlanCount.behind(Conversation.objects.all()).order_by("-updated_at")
    return list(behind.values_list("pk", flat=True))


ROUND = 2.0  # seconds between looks at the database
IDLE_ROUND = 4.0  # the same while no turn is active anywhere; a new one is announced
TIDY_EVERY = 30.0
INDEX_AFTER = 0.5  # seconds after a turn begins or ends, when more pressing things are done
GRACE = 2.0  # seconds for writing down that a turn is handed over


class Pool:
    """Claims turns while there is room; outlives the consumer that rings it, which Channels may replace."""

    def __init__(self) -> None:
        self.worker = turn_recovery.new_name()
        self.monitor = LeaseMonitor()
        self.running: dict[int, tuple[RunningTurn[TurnStream], asyncio.Task[None]]] = {}
        self.naming: set[asyncio.Task[None]] = set()
        self.counting: set[asyncio.Task[None]] = set()
        self.indexing: set[asyncio.Task[None]] = set()
        self._cancelled: WeakSet[asyncio.Task[None]] = WeakSet()
        self.closing = False
        self._claiming = asyncio.Lock()
        self._rounds: asyncio.Task[None] | None = None
        self._removing: asyncio.Task[None] | None = None
        self._tidy_at = 0.0
        self._is_idle = False  # whether no turn was active at the latest look
        self._is_full = False  # whether turns may wait for want of room here

    def open(self) -> None:
        """Begin to look for work, and go on looking."""
        if self._rounds is None:
            _beside(count_missed(), self.counting)
        if self._rounds is None or self._rounds.done():
            self._rounds = asyncio.create_task(self._make_rounds())

    async def kick(self) -> None:
        """Claim what is waiting, as far as there is room; index it a moment later."""
        self._index(after=INDEX_AFTER)
        async with self._claiming:
            self._is_full = False
            while not self.closing and len(self.running) < settings.MAX_TURNS:
                turn = await in_database(Turn.claim, self.worker)
                if turn is None:
                    return
                self._start(turn)
            self._is_full = True

    def stop(self, turn_id: int) -> None:
        """Stop the turn at once if it runs here, because the person wants it so."""
        self._cancel(turn_id, Turn.Status.STOPPED)

    async def drain(self) -> None:
        """Claim nothing more, let what runs finish for a while, then hand the rest over."""
        self.closing = True
        await self._wait(settings.DRAIN_SECONDS)
        for turn_id in self.running:
            self._cancel(turn_id, Turn.Status.QUEUED)
        await self._wait(GRACE)
        beside = [*self.naming, *self.counting, *self.indexing]
        for task in [*beside, *filter(None, [self._rounds, self._removing])]:
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
        running = RunningTurn(turn, TurnStream(turn))
        # A fresh context: nothing of the request or consumer that rang belongs to the turn.
        task = asyncio.create_task(running.run(), context=contextvars.Context())
        self.running[turn.pk] = (running, task)
        task.add_done_callback(lambda _task: self._ended(turn))

    def _ended(self, turn: Turn) -> None:
        self.running.pop(turn.pk, None)
        if not self.closing:
            if self._is_full:
                self._follow_up = asyncio.create_task(self.kick())
            self._index(after=INDEX_AFTER)
            if turn.status == Turn.Status.COMPLETED:
                _beside(name_conversation(turn), self.naming)

    async def _make_rounds(self) -> None:
        while True:
            try:
                await self._round()
            except Exception:  # a database that is away comes back
                self._is_idle = False
                log.exception("the worker's round failed; it goes on")
            await asyncio.sleep(IDLE_ROUND if self._is_idle else ROUND)

    async def _round(self) -> None:
        """Renew leases, and see to what has come up: one statement where no turn runs here and none waits."""
        own = dict(self.running)
        silent = [running.turn for running, _task in own.values() if self._is_silent(running.turn)]
        found = await in_database(_renew_and_look, silent)
        active = {turn.pk: turn for turn in found if turn.is_active}
        self._is_idle = not found
        for turn_id, (running, _task) in own.items():
            self._heed(running.turn, active.get(turn_id))
        if any(turn.deleted and not turn.stop_requested_at for turn in active.values()):
            for turn_id in await in_database(stop_deleted):
                self.stop(turn_id)
        held = [turn for turn in active.values() if turn.is_held]
        if left := orphans(self.monitor, held):
            for turn in await in_database(take_back_all, left):
                log.warning("%s was left by its worker", turn)
                await self._show(turn)
        if any(turn.status == Turn.Status.WAITING for turn in active.values()):
            for turn in await in_database(end_unanswered, settings.APPROVAL_SECONDS):
                await self._show(turn)
        if left or any(turn.status == Turn.Status.QUEUED for turn in active.values()):
            await self.kick()
        if any(turn.unindexed_at for turn in found):
            self._index()
        await self._tidy()

    def _index(self, after: float = 0.0) -> None:
        """Index marked turns beside all else, unless that is being done or about to be."""
        if not self.indexing and not self.closing:
            _beside(index_marked(after), self.indexing)

    def _is_silent(self, turn: Turn) -> bool:
        """Whether nothing of the turn was written lately, which would have renewed its lease."""
        return turn.is_held and time.monotonic() - turn.renewed_at > ROUND / 2

    def _heed(self, turn: Turn, now: Turn | None) -> None:
        """Cancel a turn that was taken away or is to stop; `now` is its row, unless that has ended."""
        if now is None or not now.is_held or now.fence != turn.fence:
            if turn.is_held:  # else it ended or began to wait just now, here
                self._cancel(turn.pk, Turn.Status.QUEUED)
        elif now.stop_requested_at:
            self.stop(turn.pk)

    async def _tidy(self) -> None:
        """Begin to remove what was deleted a while ago, now and then, if nothing of that is under way."""
        if time.monotonic() < self._tidy_at or (self._removing and not self._removing.done()):
            return
        self._tidy_at = time.monotonic() + TIDY_EVERY
        if keys := await in_database(overdue):
            self._removing = asyncio.create_task(remove_deleted(keys), context=contextvars.Context())

    async def _show(self, turn: Turn) -> None:
        await announce(turn)


def _renew_and_look(silent: list[Turn]) -> list[Any]:
    """The turns that have not ended or are not indexed, after the leases of the silent ones were renewed."""
    Turn.renew_leases(silent)
    found = Turn.objects.filter(Q(status__in=Turn.ACTIVE) | Q(unindexed_at__isnull=False))
    return list(
        found.annotate(deleted=F("conversation__deleted_at")).defer("profile_snapshot", "status_message")
    )


def _beside(work: Coroutine[None, None, None], tasks: set[asyncio.Task[None]]) -> None:
    """Let something be done in nobody's place; it is among `tasks` until it is."""
    task = asyncio.create_task(work, context=contextvars.Context())
    tasks.add(task)
    task.add_done_callback(tasks.discard)
