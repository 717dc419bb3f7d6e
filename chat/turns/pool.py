"""The pool of turns that this process runs, claimed from the database."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
import uuid
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any
from weakref import WeakSet

from django.conf import settings
from django.db.models import F, Q

from chat import measures
from chat.database import in_database
from chat.live.broadcast import publish_turn
from chat.live.stream import TurnStream
from chat.models import Conversation, PlanCount, Turn, end_unanswered, turn_recovery
from chat.models.turn_recovery import LeaseMonitor, abandoned_turns, recover_turns
from chat.plan.plan_stats import count
from chat.turns.deleted import overdue, remove_deleted, stop_deleted
from chat.turns.indexing import index_marked
from chat.turns.naming import name_conversation
from chat.turns.run_turn import RunningTurn

log = logging.getLogger(__name__)


async def count_missed() -> None:
    """Count plan statistics that are missing or outdated: after a crash, an import, an upgrade."""
    try:
        behind = await in_database(_uncounted_conversations)
    except Exception as error:  # the database may come back
        log.warning("looking up missing plan statistics failed: %r", error)
        return
    for conversation_id in behind:
        began = time.monotonic()
        try:
            await in_database(count, conversation_id)
        except Exception as error:  # only the statistics page depends on it
            log.warning("plan statistics of conversation %s are not counted: %r", conversation_id, error)
        await asyncio.sleep(time.monotonic() - began)  # after an upgrade there are many; turns come first


def _uncounted_conversations() -> list[uuid.UUID]:
    behind = PlanCount.outdated(Conversation.objects.all()).order_by("-updated_at")
    return list(behind.values_list("pk", flat=True))


POLL_INTERVAL = 2.0  # seconds between polls of the database
IDLE_POLL_INTERVAL = 4.0  # the same while no turn is active anywhere: workers are notified of a new one
REMOVAL_INTERVAL = 30.0  # seconds between removals of deleted conversations
INDEX_DELAY = 0.5  # seconds after a turn begins or ends, which is the more urgent work
RELEASE_TIMEOUT = 4.0  # seconds for returning turns to the queue


class Pool:
    """Claims turns while there is room. Outlives the channel consumer, which Channels may replace."""

    def __init__(self) -> None:
        self.worker = turn_recovery.new_worker_name()
        self.monitor = LeaseMonitor()
        self.running: dict[int, tuple[RunningTurn[TurnStream], asyncio.Task[None]]] = {}
        self.naming: set[asyncio.Task[None]] = set()
        self.counting: set[asyncio.Task[None]] = set()
        self.indexing: set[asyncio.Task[None]] = set()
        self._cancelled: WeakSet[asyncio.Task[None]] = WeakSet()
        self.closing = False
        self._claiming = asyncio.Lock()
        self._polling: asyncio.Task[None] | None = None
        self._removing: asyncio.Task[None] | None = None
        self._removal_due_at = 0.0
        self._is_idle = False  # whether no turn was active at the latest poll
        self._is_full = False  # whether queued turns may be waiting for room here

    def open(self) -> None:
        if self._polling is None:
            _run_in_background(count_missed(), self.counting)
        if self._polling is None or self._polling.done():
            self._polling = asyncio.create_task(self._poll_forever())

    async def kick(self) -> None:
        """Claim queued turns while there is room; index them a moment later."""
        self._start_indexing(after=INDEX_DELAY)
        async with self._claiming:
            self._is_full = False
            while not self.closing and len(self.running) < settings.MAX_TURNS:
                turn = await in_database(Turn.claim, self.worker)
                if turn is None:
                    return
                self._start(turn)
            self._is_full = True

    def stop(self, turn_id: int) -> None:
        self._cancel(turn_id, Turn.Status.STOPPED)

    async def drain(self) -> None:
        """Claim nothing more; let turns finish for DRAIN_SECONDS, then return the rest to the queue."""
        self.closing = True
        with suppress(TimeoutError):  # the database may not answer
            async with asyncio.timeout(RELEASE_TIMEOUT), self._claiming:
                pass  # the turn of a claim under way goes back too
        await self._wait(settings.DRAIN_SECONDS)
        for turn_id in self.running:
            self._cancel(turn_id, Turn.Status.QUEUED)
        await self._wait(RELEASE_TIMEOUT)
        background = [*self.naming, *self.counting, *self.indexing]
        for task in [*background, *filter(None, [self._polling, self._removing])]:
            task.cancel()

    def _cancel(self, turn_id: int, status: Turn.Status) -> None:
        """Cancel the turn's task once: a second time would interrupt the recording of the end."""
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
            waited = turn.started_at - turn.created_at  # the clocks may be of two machines
            measures.queue_wait.observe(max(0.0, waited.total_seconds()))
        running = RunningTurn(turn, TurnStream(turn))
        # A fresh context: the turn inherits nothing from the request or consumer that notified us.
        task = asyncio.create_task(running.run(), context=contextvars.Context())
        self.running[turn.pk] = (running, task)
        task.add_done_callback(lambda _task: self._ended(turn))

    def _ended(self, turn: Turn) -> None:
        self.running.pop(turn.pk, None)
        if not self.closing:
            if self._is_full:
                self._follow_up = asyncio.create_task(self.kick())
            self._start_indexing(after=INDEX_DELAY)
            if turn.status == Turn.Status.COMPLETED:
                _run_in_background(name_conversation(turn), self.naming)

    async def _poll_forever(self) -> None:
        while True:
            try:
                await self._poll()
            except Exception:  # the database may come back
                self._is_idle = False
                log.exception("a poll failed; polling continues")
            await asyncio.sleep(IDLE_POLL_INTERVAL if self._is_idle else POLL_INTERVAL)

    async def _poll(self) -> None:
        """Renew leases and act on changes: one statement if no turn runs here and none is queued."""
        running_here = dict(self.running)
        turns_here = [running.turn for running, _task in running_here.values()]
        outdated = [turn for turn in turns_here if self._needs_renewal(turn)]
        turns = await in_database(_renew_and_read, outdated)
        active = {turn.pk: turn for turn in turns if turn.is_active}
        self._is_idle = not turns
        for turn_id, (running, _task) in running_here.items():
            self._check_for_stop(running.turn, active.get(turn_id))
        if any(turn.deleted and not turn.stop_requested_at for turn in active.values()):
            for turn_id in await in_database(stop_deleted):
                self.stop(turn_id)
        held = [turn for turn in active.values() if turn.is_held]
        if abandoned := abandoned_turns(self.monitor, held):
            for turn in await in_database(recover_turns, abandoned):
                log.warning("recovered %s: its worker is gone", turn)
                await publish_turn(turn)
        if any(turn.status == Turn.Status.WAITING for turn in active.values()):
            for turn in await in_database(end_unanswered, settings.APPROVAL_SECONDS):
                await publish_turn(turn)
        if abandoned or any(turn.status == Turn.Status.QUEUED for turn in active.values()):
            await self.kick()
        if any(turn.unindexed_at for turn in turns):
            self._start_indexing()
        await self._remove_overdue()

    def _start_indexing(self, after: float = 0.0) -> None:
        if not self.indexing and not self.closing:
            _run_in_background(index_marked(after), self.indexing)

    def _needs_renewal(self, turn: Turn) -> bool:
        return turn.is_held and time.monotonic() - turn.renewed_at > POLL_INTERVAL / 2

    def _check_for_stop(self, turn: Turn, row: Turn | None) -> None:
        """Cancel a turn that was taken away or is to be stopped. `row` is its row, None if it has ended."""
        if row is None or not row.is_held or row.fence != turn.fence:
            if turn.is_held:  # otherwise it has just ended or begun to wait here
                self._cancel(turn.pk, Turn.Status.QUEUED)
        elif row.stop_requested_at:
            self.stop(turn.pk)

    async def _remove_overdue(self) -> None:
        if time.monotonic() < self._removal_due_at or (self._removing and not self._removing.done()):
            return
        self._removal_due_at = time.monotonic() + REMOVAL_INTERVAL
        if keys := await in_database(overdue):
            self._removing = asyncio.create_task(remove_deleted(keys), context=contextvars.Context())


def _renew_and_read(silent: list[Turn]) -> list[Any]:
    Turn.renew_leases(silent)
    turns = Turn.objects.filter(Q(status__in=Turn.ACTIVE) | Q(unindexed_at__isnull=False))
    return list(
        turns.annotate(deleted=F("conversation__deleted_at")).defer("profile_snapshot", "status_message")
    )


def _run_in_background(work: Coroutine[None, None, None], tasks: set[asyncio.Task[None]]) -> None:
    """Run `work` as a task outside the MAX_TURNS limit; `tasks` holds a reference until it ends."""
    task = asyncio.create_task(work, context=contextvars.Context())
    tasks.add(task)
    task.add_done_callback(tasks.discard)
