"""A claimed turn on its way: loop, record, draw, send."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from django.db import DatabaseError, InterfaceError, OperationalError
from django.utils.translation import gettext as _

from chat import measures
from chat.agent import Agent, Event, Reply, TodoItem
from chat.database import in_database
from chat.live.announcing import announce
from chat.live.changes import Change, TurnChanged
from chat.models import LeaseLost, Step, Turn
from chat.models.turn import LEASE
from chat.turns.about import about
from chat.turns.agents import agent_for
from chat.turns.approvals import Approvals
from chat.turns.pictures import sees
from chat.turns.recorder import SAVE_EVERY, Recorder
from chat.turns.resumption import Past
from chat.turns.transcript import transcript

log = logging.getLogger(__name__)

MOMENT = 0.03  # seconds that an event may wait for the next, to be written in one transaction with it
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
        self.agent: Agent
        self._writing = asyncio.Lock()  # the recorder is no two threads' at a time
        self._soon: asyncio.Task[None] | None = None
        self._failure: Exception | None = None  # of a write for which no event waited
        # What becomes of the turn if its task is cancelled: ended by the person's wish, or handed over.
        self.cancelled_as = Turn.Status.QUEUED
        self.farewell = ""

    async def run(self) -> None:
        """Work until the turn has ended, one way or another; never raises but for cancellation of the end."""
        about(self.turn)
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
            sentence = _("Something went wrong on the server; see its log. Retry, or send the message again.")
            await self._write_down(self.recorder.end, Turn.Status.FAILED, sentence)

    async def _work(self) -> None:
        await self.screen.show([TurnChanged()])
        past = await in_database(Past, self.turn)
        if past.is_answered:
            await self._write_down(self.recorder.end, Turn.Status.COMPLETED)
            return
        unfinished = await in_database(past.take_up, self.recorder)
        if unfinished is None and past.latest_step:
            await self._read_what_is_held(past.latest_step)
        self.agent = agent = await agent_for(self.turn)
        messages, todos = await in_database(self._read)
        decide = Approvals(agent, self.recorder, self._write).decide
        meter = self.recorder.meter
        saving = asyncio.create_task(self._save_texts())
        self._know_blindness()
        try:
            await agent.drive(
                messages,
                todos,
                past.spent,
                self._inbox,
                decide,
                unfinished,
                meter,
                self._edits,
                emit=self._take,
            )
        finally:
            saving.cancel()
            if self._soon:
                self._soon.cancel()
        await self._finish()

    def _read(self) -> tuple[list[dict[str, Any]], Sequence[TodoItem]]:
        self.recorder.account.read_totals()
        return transcript(self.turn), self.recorder.planning.begin()

    async def _read_what_is_held(self, latest: Step) -> None:
        """What a turn goes on with follows results: a safe point like any other."""
        latest.turn = self.turn
        self.recorder.step = latest
        if await self._inbox():
            await self.screen.show([TurnChanged()])

    def _know_blindness(self) -> None:
        """Note that the model cannot see: that is known ahead, or learned from an endpoint's error."""
        if not self.turn.blind and not sees(self.agent.model):
            self.recorder.change_turn(blind=True)

    async def _take(self, event: Event) -> None:
        """Take an event in. What must be on record before the engine goes on is written when this returns."""
        self.watch.see(event)
        if isinstance(event, Reply):
            self._know_blindness()
        if self._failure:
            raise self._failure
        if self.recorder.absorbs(event):
            await self.screen.show(self.recorder.take(event))
            return
        self.recorder.keep(event)
        if not self.recorder.may_wait(event):
            await self._write()
        elif self.recorder.has_news and (self._soon is None or self._soon.done()):
            self._soon = asyncio.create_task(self._write_soon())

    async def _write(self) -> None:
        async with self._writing:
            await self.screen.show(await in_database(self.recorder.write))

    async def _write_soon(self) -> None:
        """Write what waits for the next event, in case that does not come at once."""
        await asyncio.sleep(MOMENT)
        try:
            if self.recorder.has_news:
                await self._write()
        except Exception as error:  # the next event ends the turn with it
            self._failure = error

    async def _save_texts(self) -> None:
        """Save text and output that have grown, about once a second."""
        while True:
            await asyncio.sleep(SAVE_EVERY)
            try:
                if self.recorder.has_grown:
                    await self._write()
            except (LeaseLost, DatabaseError) as error:  # the next event meets it too, and deals with it
                log.warning("text of turn %s is not saved: %s", self.turn.pk, error)

    async def _inbox(self) -> list[dict[str, Any]]:
        """What the user sent since, asked for ahead of every request but the first."""
        async with self._writing:
            notes, changes = await in_database(self.recorder.deliver)
            await self.screen.show(changes)
        return notes

    async def _edits(self) -> Sequence[TodoItem] | None:
        """What the user has made of the list, asked for ahead of every request."""
        planning = self.recorder.planning
        return await in_database(planning.changed) if planning.is_changed else None

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
                async with self._writing:
                    return await in_database(write, *what)
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
