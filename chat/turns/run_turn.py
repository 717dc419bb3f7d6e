"""Runs a claimed turn: drives the agent, records its events, shows the changes."""

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
from chat.agent import Agent, Event, Reply, Spent, TodoItem, Tool, ToolError, Undecided, Usage
from chat.agent import ToolCall as CallRequest
from chat.agent.arguments import decoded
from chat.agent.storable import storable_json
from chat.agent.todo import TODO_WRITE
from chat.database import in_database
from chat.live.broadcast import publish_turn
from chat.live.frames import Change, TurnChanged
from chat.models import LeaseLost, Message, Reader, Rule, Step, ToolCall, Turn
from chat.models.turn import LEASE
from chat.turns.agents import agent_for
from chat.turns.log_context import set_log_context
from chat.turns.recorder import SAVE_EVERY, Recorder
from chat.turns.transcript import supports_images, transcript_with_rows

log = logging.getLogger(__name__)


class Approvals:
    """Decides which tool calls of one turn may run, by the rules in force when its work began."""

    def __init__(self, agent: Agent, recorder: Recorder, write: Callable[[], Awaitable[None]]) -> None:
        self.tools = {tool.name: tool for tool in agent.tools}
        self.recorder = recorder
        self.write = write  # writes pending events, so that the call has a row
        self.profile = recorder.turn.profile

    async def decide(self, request: CallRequest) -> str | None:
        """Return None if the call may run, or the user's reason if they denied it; raises Undecided."""
        call = self.recorder.row_of(request)
        if call and call.decision:
            return call.reason if call.decision == ToolCall.Decision.DENIED else None
        tool = self.tools.get(request.name)
        needs_approval = request.name != TODO_WRITE and self.profile.rule_for(request.name) != Rule.RUN
        # A call that no tool accepts needs no approval: it ends with an error anyway.
        if not needs_approval or tool is None or not _accepts(tool, request):
            return None
        await self.write()
        call = self.recorder.calls[request.id]
        if await in_database(_approve_if_covered, call):
            return None
        call.detail = {"foreseen": storable_json(await _preview(tool, request))}
        raise Undecided


def _accepts(tool: Tool, request: CallRequest) -> bool:
    try:
        arguments = decoded(request.arguments)
    except (ValueError, RecursionError):
        return False
    try:
        tool.checked(arguments)
    except ToolError:
        return False
    except Exception:  # it may or may not run, so the user is asked
        log.exception("checking the arguments of %s failed; asking the user", tool.name)
    return True


def _approve_if_covered(call: ToolCall) -> bool:
    if not call.is_covered:
        return False
    call.decision, call.decided_at = ToolCall.Decision.COVERED, timezone.now()
    call.save(update_fields=["decision", "decided_at"])
    return True


async def _preview(tool: Tool, request: CallRequest) -> dict[str, object]:
    """What the call would change now; empty if it would fail or the tool cannot tell."""
    try:
        return dict(await tool.foreseen(decoded(request.arguments)))
    except ToolError:
        return {}
    except Exception:  # the user is asked without a preview
        log.exception("preview of %s failed", tool.name)
        return {}


WRITE_DELAY = 0.03  # seconds an event may wait for the next, to share its transaction
RETRY_DELAY = 0.5  # seconds between tries while the database is unavailable


class Display(Protocol):
    """Shows a turn: in open tabs, or in a terminal."""

    async def show(self, changes: Iterable[Change]) -> None: ...

    async def finish(self) -> None:
        """Show pending changes, then nothing more: the turn has ended."""

    async def close(self) -> None:
        """Show nothing more: the turn belongs to another worker."""


D = TypeVar("D", bound=Display)


class RunningTurn(Generic[D]):
    """A turn that this process runs."""

    def __init__(self, turn: Turn, display: D) -> None:
        self.turn = turn
        self.recorder = Recorder(turn)
        self.watch = measures.Stopwatch()
        self.display = display
        self.agent: Agent
        self._write_lock = asyncio.Lock()  # one thread at a time uses the recorder
        self._delayed_write: asyncio.Task[None] | None = None
        self._write_error: Exception | None = None  # of a delayed write, raised at the next event
        # The turn's status after its task is cancelled: stopped, interrupted, or queued for another worker.
        self.cancelled_as = Turn.Status.QUEUED
        self.end_message = ""

    async def run(self) -> None:
        """Work until the turn has ended. Raises only CancelledError, if cancelled while writing the end."""
        set_log_context(self.turn)
        Reader.of(self.turn.conversation.owner).activate()  # of the frames, and of messages in the rows
        try:
            await self._work()
        except asyncio.CancelledError:
            await self._end_cancelled()
        except LeaseLost as lost:
            measures.lease_losses.inc()
            log.warning("lease lost: %s", lost)
            await self.display.close()
        except Exception:
            log.exception("turn %s failed", self.turn.pk)
            message = _("Something went wrong on the server; see its log. Retry, or send the message again.")
            await self._write_end(self.recorder.end, Turn.Status.FAILED, message)

    async def _work(self) -> None:
        await self.display.show([TurnChanged()])
        resumed = await in_database(ResumeState, self.turn)
        if resumed.is_answered:
            await self._write_end(self.recorder.end, Turn.Status.COMPLETED)
            return
        unfinished = await in_database(resumed.restore_step, self.recorder)
        if unfinished is None and resumed.latest_step:
            await self._deliver_held_messages(resumed.latest_step)
        self.agent = agent = await agent_for(self.turn)
        messages, todos, written = await in_database(self._read)
        if self.turn.fence > 1:  # tabs may still show a list that an earlier worker drafted
            await self.display.show([await in_database(self.recorder.planning.draft, None)])
        decide = Approvals(agent, self.recorder, self._write).decide
        saving = asyncio.create_task(self._save_texts_periodically())
        self._note_missing_vision()
        try:
            await agent.drive(
                messages,
                todos,
                written=written,
                spent=resumed.spent,
                inbox=self._inbox,
                approve=decide,
                unfinished=unfinished,
                meter=self.recorder.meter,
                edits=self._edits,
                emit=self._handle_event,
            )
        finally:
            saving.cancel()
            if self._delayed_write:
                self._delayed_write.cancel()
        await self._finish()

    def _read(self) -> tuple[list[dict[str, Any]], Sequence[TodoItem], Sequence[TodoItem]]:
        self.recorder.account.read_totals()
        rows = transcript_with_rows(self.turn)
        step = next((row for _message, row in reversed(rows) if isinstance(row, Step)), Step())
        usage = Usage(step.input_tokens, step.output_tokens, reasoning_tokens=step.reasoning_tokens)
        self.recorder.meter.carried = usage.carried
        return [message for message, _row in rows], *self.recorder.planning.begin()

    async def _deliver_held_messages(self, latest: Step) -> None:
        """Let held messages join a resumed turn: the latest step's results are a safe point."""
        latest.turn = self.turn
        self.recorder.step = latest
        if await self._inbox():
            await self.display.show([TurnChanged()])

    def _note_missing_vision(self) -> None:
        if not self.turn.vision_unsupported and not supports_images(self.agent.model):
            self.recorder.change_turn(vision_unsupported=True)

    async def _handle_event(self, event: Event) -> None:
        """Process an event; on return everything that must be recorded first is written."""
        self.watch.observe(event)
        if isinstance(event, Reply):
            self._note_missing_vision()
        if self._write_error:
            raise self._write_error
        if self.recorder.can_skip_database(event):
            await self.display.show(self.recorder.apply(event))
            return
        self.recorder.queue(event)
        if not self.recorder.can_wait(event):
            await self._write()
        elif self.recorder.has_pending and (self._delayed_write is None or self._delayed_write.done()):
            self._delayed_write = asyncio.create_task(self._write_soon())

    async def _write(self) -> None:
        async with self._write_lock:
            await self.display.show(await in_database(self.recorder.write))

    async def _write_soon(self) -> None:
        await asyncio.sleep(WRITE_DELAY)
        try:
            if self.recorder.has_pending:
                await self._write()
        except Exception as error:  # raised at the next event, which ends the turn
            self._write_error = error

    async def _save_texts_periodically(self) -> None:
        while True:
            await asyncio.sleep(SAVE_EVERY)
            try:
                if self.recorder.has_unsaved_rows:
                    await self._write()
            except (LeaseLost, DatabaseError) as error:  # the next event meets and handles it too
                log.warning("text of turn %s is not saved: %s", self.turn.pk, error)

    async def _inbox(self) -> list[dict[str, Any]]:
        async with self._write_lock:
            notes, changes = await in_database(self.recorder.deliver)
            await self.display.show(changes)
        return notes

    async def _edits(self) -> Sequence[TodoItem] | None:
        planning = self.recorder.planning
        return await in_database(planning.edited_list) if planning.has_edits else None

    async def _end_cancelled(self) -> None:
        if not self.turn.is_held:  # already ended or waiting; only the last frame is missing
            await self._finish()
        elif self.cancelled_as is Turn.Status.QUEUED:
            await self._write_end(self.recorder.release)
        else:
            await self._write_end(self.recorder.end, self.cancelled_as, self.end_message)

    async def _write_end(self, write: Callable[..., list[Change]], *arguments: Any) -> None:
        try:
            await self.display.show(await self._write_with_retries(write, *arguments))
            await self._finish()
        except LeaseLost as lost:
            measures.lease_losses.inc()
            log.warning("lease lost: %s", lost)
            await self.display.close()

    async def _write_with_retries(self, write: Callable[..., list[Change]], *arguments: Any) -> list[Change]:
        """Retry the write until the database is back; give up after the length of a lease."""
        deadline = time.monotonic() + LEASE.total_seconds()
        while True:
            try:
                async with self._write_lock:
                    return await in_database(write, *arguments)
            except (OperationalError, InterfaceError) as error:
                if time.monotonic() > deadline:
                    raise
                log.warning("recording the end of turn %s failed, retrying: %s", self.turn.pk, error)
            await asyncio.sleep(RETRY_DELAY)

    async def _finish(self) -> None:
        """Show the end, and the next turn if held messages have started one."""
        await self.display.finish()
        if following := self.recorder.next_turn:
            await publish_turn(following)


class ResumeState:
    """What earlier workers did in a turn: its steps, read once, oldest first. A new turn has none."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        is_resumed = turn.fence > 1
        self.steps = list(turn.steps.prefetch_related("tool_calls")) if is_resumed else []
        self.finished = [step for step in self.steps if step.ended_at]  # with a complete reply

    @property
    def is_answered(self) -> bool:
        return bool(self.finished) and not self.finished[-1].tool_calls.all()

    @property
    def latest_step(self) -> Step | None:
        """The step whose results the next request ends with; None before the first."""
        return self.finished[-1] if self.finished else None

    @property
    def spent(self) -> Spent:
        rounds = reminders = 0
        for step in self.finished:
            calls = list(step.tool_calls.all())
            if step.reminder:
                rounds, reminders = 0, reminders + 1
            if any(call.status == ToolCall.Status.PENDING for call in calls):
                break  # counted when the step is resumed
            rounds = 0 if TODO_WRITE in [call.name for call in calls] else rounds + 1
        return Spent(
            steps=len(self.finished),
            tool_calls=sum(call.ran for step in self.steps for call in step.tool_calls.all()),
            seconds=sum(map(_seconds_of, self.finished)),
            rounds=rounds,
            reminders=reminders,
        )

    def restore_step(self, recorder: Recorder) -> Reply | None:
        """Put the recorder back into its step; return the reply whose calls have not all run, or None."""
        unanswered = [step for step in self.steps if not step.ended_at]
        recorder.unanswered = {step.number: step for step in unanswered}
        if unanswered:
            partial = Message.objects.filter(step__in=unanswered, role=Message.Role.ASSISTANT)
            partial = partial.select_related("step")
            recorder.cut_offs = {message.step_id: message for message in partial if message.step_id}
        for step in unanswered:
            step.turn = self.turn  # rows are rendered without database access
        for message in recorder.cut_offs.values():
            message.turn = self.turn
        pending = (step for step in self.finished if any(map(_is_pending, step.tool_calls.all())))
        unfinished = next(pending, None)
        return _restore_reply(unfinished, recorder) if unfinished else None


def _restore_reply(step: Step, recorder: Recorder) -> Reply:
    step.turn = recorder.turn
    recorder.step = step
    rows = sorted(step.tool_calls.all(), key=lambda call: call.index)
    for row in rows:
        row.turn, row.step = recorder.turn, step
    recorder.calls = {row.call_id: row for row in rows}
    message = step.messages.filter(role=Message.Role.ASSISTANT).first()
    requests = [CallRequest(row.call_id, row.name, row.arguments, row.extra) for row in rows]
    return Reply(message.text if message else "", "", tuple(requests), step.finish_reason)


def _is_pending(call: ToolCall) -> bool:
    return call.status == ToolCall.Status.PENDING


def _seconds_of(step: Step) -> float:
    """Seconds of the step and its calls, without gaps between workers and waits for the user."""
    ended = [call for call in step.tool_calls.all() if call.ended_at]
    ends = [step.ended_at, *(call.ended_at for call in ended)]
    took = max(0.0, *((end - step.started_at).total_seconds() for end in ends if end))
    return max(0.0, took - sum(call.waited for call in ended))
