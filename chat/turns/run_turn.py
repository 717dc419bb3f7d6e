"""A claimed turn on its way: loop, record, draw, send."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from django.db import DatabaseError, InterfaceError, OperationalError
from django.utils import timezone
from django.utils.translation import gettext as _

from chat import measures
from chat.agent import Agent, Event, Reply, Spent, TodoItem, Tool, ToolError, Undecided
from chat.agent import ToolCall as CallRequest
from chat.agent.arguments import decoded
from chat.agent.todo import TODO_WRITE
from chat.database import in_database
from chat.live.broadcast import announce
from chat.live.frames import Change, TurnChanged
from chat.models import LeaseLost, Message, Rule, Step, ToolCall, Turn
from chat.models.text import clean_json
from chat.models.turn import LEASE
from chat.turns.agents import agent_for
from chat.turns.log_context import about
from chat.turns.recorder import SAVE_EVERY, Recorder
from chat.turns.transcript import sees, transcript

log = logging.getLogger(__name__)


class Approvals:
    """Decides on the calls of one turn, with the rules as they were when its work began."""

    def __init__(self, agent: Agent, recorder: Recorder, write: Callable[[], Awaitable[None]]) -> None:
        self.tools = {tool.name: tool for tool in agent.tools}
        self.recorder = recorder
        self.write = write  # what the recorder has taken in, so that the call has a row
        self.profile = recorder.turn.profile

    async def decide(self, request: CallRequest) -> str | None:
        """None for a call that may run, the person's reason for one that they denied; raises Undecided."""
        call = self.recorder.row_of(request)
        if call and call.decision:
            return call.reason if call.decision == ToolCall.Decision.DENIED else None
        tool = self.tools.get(request.name)
        asks = request.name != TODO_WRITE and self.profile.rule_for(request.name) != Rule.RUN
        # What no tool takes is not asked about: it is answered with an error, whatever the person would say.
        if not asks or tool is None or not _takes(tool, request):
            return None
        await self.write()
        call = self.recorder.calls[request.id]
        if await in_database(_cover, call):
            return None
        call.detail = {"foreseen": clean_json(await _foreseen(tool, request))}
        raise Undecided


def _takes(tool: Tool, request: CallRequest) -> bool:
    try:
        given = decoded(request.arguments)
    except (ValueError, RecursionError):
        return False
    try:
        tool.checked(given)
    except ToolError:
        return False
    except Exception:  # nobody knows whether it would run, so the person is asked
        log.exception("the arguments of %s could not be checked", tool.name)
    return True


def _cover(call: ToolCall) -> bool:
    """Whether the person allowed such calls before; the record of this one says so."""
    if not call.is_covered:
        return False
    call.decision, call.decided_at = ToolCall.Decision.COVERED, timezone.now()
    call.save(update_fields=["decision", "decided_at"])
    return True


async def _foreseen(tool: Tool, request: CallRequest) -> dict[str, object]:
    """What the call would change, as things stand; nothing where it would fail or cannot tell."""
    try:
        return dict(await tool.foreseen(decoded(request.arguments)))
    except ToolError:
        return {}
    except Exception:  # the question is put without a preview
        log.exception("%s could not tell what it would do", tool.name)
        return {}


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
        if not self.turn.vision_unsupported and not sees(self.agent.model):
            self.recorder.change_turn(vision_unsupported=True)

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


class Past:
    """The steps of a turn, read once, oldest first. One that no worker has held before has none."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        taken_before = turn.fence > 1
        self.steps = list(turn.steps.prefetch_related("tool_calls")) if taken_before else []
        self.finished = [step for step in self.steps if step.ended_at]  # whose reply came to its end

    @property
    def is_answered(self) -> bool:
        """Whether the model has said its last word already, so that only the end is missing."""
        return bool(self.finished) and not self.finished[-1].tool_calls.all()

    @property
    def latest_step(self) -> Step | None:
        """The step whose results the next request ends with; None ahead of the first."""
        return self.finished[-1] if self.finished else None

    @property
    def spent(self) -> Spent:
        """What the turn has used of its limits so far; nothing for a new one."""
        rounds = reminders = 0
        for step in self.finished:
            calls = list(step.tool_calls.all())
            if step.reminder:
                rounds, reminders = 0, reminders + 1
            if any(call.status == ToolCall.Status.PENDING for call in calls):
                break  # the step is gone on with, and counted then
            rounds = 0 if TODO_WRITE in [call.name for call in calls] else rounds + 1
        return Spent(
            steps=len(self.finished),
            tool_calls=sum(call.ran for step in self.steps for call in step.tool_calls.all()),
            seconds=sum(map(_seconds_of, self.finished)),
            rounds=rounds,
            reminders=reminders,
        )

    def take_up(self, recorder: Recorder) -> Reply | None:
        """The reply whose calls were not all run as the turn was left, to go on with; None for none.

        The recorder stands in that step again, and knows the steps that were left without a reply.
        """
        left = [step for step in self.steps if not step.ended_at]
        recorder.unanswered = {step.number: step for step in left}
        if left:
            begun = Message.objects.filter(step__in=left, role=Message.Role.ASSISTANT)
            recorder.cut_offs = {message.step_id: message for message in begun if message.step_id}
        for step in left:
            step.turn = self.turn  # rows are drawn where no database is asked
        for message in recorder.cut_offs.values():
            message.turn = self.turn
        pending = (step for step in self.finished if any(map(_is_pending, step.tool_calls.all())))
        unfinished = next(pending, None)
        return _unfinished(unfinished, recorder) if unfinished else None


def _unfinished(step: Step, recorder: Recorder) -> Reply:
    step.turn = recorder.turn
    recorder.step = step
    rows = sorted(step.tool_calls.all(), key=lambda call: call.index)
    for row in rows:
        row.turn, row.step = recorder.turn, step
    recorder.calls = {row.call_id: row for row in rows}
    said = step.messages.filter(role=Message.Role.ASSISTANT).first()
    requests = [CallRequest(row.call_id, row.name, row.arguments, row.extra) for row in rows]
    return Reply(said.text if said else "", "", tuple(requests), step.finish_reason)


def _is_pending(call: ToolCall) -> bool:
    return call.status == ToolCall.Status.PENDING


def _seconds_of(step: Step) -> float:
    """How long the step took, with its calls. What lies between two workers is nobody's work.

    Neither is the time in which a person was asked.
    """
    ended = [call for call in step.tool_calls.all() if call.ended_at]
    ends = [step.ended_at, *(call.ended_at for call in ended)]
    took = max(0.0, *((end - step.started_at).total_seconds() for end in ends if end))
    return max(0.0, took - sum(call.waited for call in ended))
