"""A claimed turn on its way: loop, record, draw, send."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from typing import Any, Generic, Protocol, TypeVar

from asgiref.sync import ThreadSensitiveContext
from channels.db import database_sync_to_async
from django.db import DatabaseError, InterfaceError, OperationalError
from django.utils.translation import gettext as _

from chat.agent import Agent, Event, Reply, TodoItem
from chat.live import measures
from chat.live.about import about
from chat.live.agents import agent_for
from chat.live.announcing import announce
from chat.live.approvals import Approvals
from chat.live.changes import Change, TurnChanged
from chat.live.pictures import sees
from chat.live.recorder import SAVE_EVERY, Recorder
from chat.live.resumption import is_answered, latest_step, spent_by, take_up
from chat.live.transcript import transcript
from chat.models import LeaseLost, Turn
from chat.models.turn import LEASE

log = logging.getLogger(__name__)

PAUSE = 0.5  # seconds before a database that is away is asked again


class Display(Protocol):
    """Where a turn is seen: open tabs, or a terminal."""

    async def show(self, changes: Iterable[Change]) -> None:
        """Take changes in, in their order."""

    async def finish(self) -> None:
        """Show what is waiting, then nothing more: the turn has ended."""

    async def close(self) -> None:
        """Show nothing more: the turn is somebody else's."""


D = TypeVar("D", bound=Display)


class RunningTurn(Generic[D]):
    """One turn while this process works on it."""

    def __init__(self, turn: Turn, screen: D) -> None:
        self.turn = turn
        self.recorder = Recorder(turn)
        self.watch = measures.Stopwatch()
        self.screen = screen
        # What becomes of the turn if its task is cancelled: ended by the person's wish, or handed over.
        self.cancelled_as = Turn.Status.QUEUED
        self.farewell = ""

    async def run(self) -> None:
        """Work until the turn has ended, one way or another; never raises but for cancellation of the end."""
        about(self.turn)
        # The ORM runs on a thread of this turn's own, or all turns of the process would share one.
        async with ThreadSensitiveContext():
            try:
                await self._work()
            except asyncio.CancelledError:
                await self._leave()
            except LeaseLost as lost:
                measures.lease_losses.inc()
                log.warning("%s", lost)
                await self.screen.close()
            except Exception:
                log.exception("turn %s failed", self.turn.pk)
                sentence = _("Something went wrong in the server; its log says what. Retry, or send it anew.")
                await self._write_down(self.recorder.end, Turn.Status.FAILED, sentence)

    async def _work(self) -> None:
        await self.screen.show([TurnChanged()])
        if await database_sync_to_async(is_answered)(self.turn):
            await self._write_down(self.recorder.end, Turn.Status.COMPLETED)
            return
        unfinished = await database_sync_to_async(take_up)(self.recorder)
        if unfinished is None:
            await self._read_what_is_held()
        agent = await agent_for(self.turn)
        messages = await database_sync_to_async(transcript)(self.turn)
        todos = await database_sync_to_async(self.recorder.planning.begin)()
        spent = await database_sync_to_async(spent_by)(self.turn)
        decide = Approvals(agent, self.recorder).decide
        meter = self.recorder.meter
        saving = asyncio.create_task(self._save_texts())
        await self._know_blindness(agent)
        try:
            async with aclosing(
                agent.run(messages, todos, spent, self._inbox, decide, unfinished, meter, self._edits)
            ) as events:
                async for event in events:
                    if isinstance(event, Reply):
                        await self._know_blindness(agent)
                    await self.screen.show(await self._record(event))
        finally:
            saving.cancel()
        await self._finish()

    async def _read_what_is_held(self) -> None:
        """What a turn goes on with follows results: a safe point like any other."""
        step = await database_sync_to_async(latest_step)(self.turn)
        if step:
            self.recorder.step = step
            if await self._inbox():
                await self.screen.show([TurnChanged()])

    async def _know_blindness(self, agent: Agent) -> None:
        """Write down that the model cannot see: that is known ahead, or learned from an endpoint's error."""
        if not self.turn.blind and not sees(agent.model):
            await database_sync_to_async(self.turn.hold)(blind=True)

    async def _save_texts(self) -> None:
        """Save streamed text also where the model falls silent in the middle of it."""
        while True:
            await asyncio.sleep(SAVE_EVERY)
            try:
                await database_sync_to_async(self.recorder.flush)()
            except (LeaseLost, DatabaseError) as error:  # the next event meets it too, and deals with it
                log.warning("text of turn %s is not saved: %s", self.turn.pk, error)

    async def _inbox(self) -> list[dict[str, Any]]:
        """What the person sent meanwhile, asked for ahead of every request but the first."""
        notes: list[dict[str, Any]] = await database_sync_to_async(self.recorder.deliver)()
        return notes

    async def _edits(self) -> Sequence[TodoItem] | None:
        """What the person has made of the list, asked for ahead of every request."""
        items: Sequence[TodoItem] | None = await database_sync_to_async(self.recorder.planning.look)()
        return items

    async def _record(self, event: Event) -> list[Change]:
        self.watch.see(event)
        if self.recorder.absorbs(event):
            return self.recorder.take(event)
        changes: list[Change] = await database_sync_to_async(self.recorder.record)(event)
        return changes

    async def _leave(self) -> None:
        if not self.turn.is_held:  # it had ended or waits, and only the last frame was still on its way
            await self._finish()
        elif self.cancelled_as is Turn.Status.QUEUED:
            await self._write_down(self.recorder.hand_over)
        else:
            await self._write_down(self.recorder.end, self.cancelled_as, self.farewell)

    async def _write_down(self, write: Callable[..., list[Change]], *what: Any) -> None:
        try:
            await self.screen.show(await self._written(write, *what))
            await self._finish()
        except LeaseLost as lost:
            measures.lease_losses.inc()
            log.warning("%s", lost)
            await self.screen.close()

    async def _written(self, write: Callable[..., list[Change]], *what: Any) -> list[Change]:
        """The changes of a write that is tried until the database is back, or the lease is over."""
        give_up_at = time.monotonic() + LEASE.total_seconds()
        while True:
            try:
                changes: list[Change] = await database_sync_to_async(write)(*what)
                return changes
            except (OperationalError, InterfaceError) as error:
                if time.monotonic() > give_up_at:
                    raise
                log.warning("the end of turn %s is not written down yet: %s", self.turn.pk, error)
            await asyncio.sleep(PAUSE)

    async def _finish(self) -> None:
        """Show the end, then the turn that held messages have started by it."""
        await self.screen.finish()
        if following := self.recorder.next_turn:
            await announce(following)
