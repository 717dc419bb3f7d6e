"""One turn of an agent: think, act, go on until a reply asks for nothing more."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from chat.agent.arguments import readable
from chat.agent.budget import Budget, LimitError
from chat.agent.called import written_call
from chat.agent.calls import Outcome, Undecided, outcome
from chat.agent.context import Context, as_notes, as_sent, compacted
from chat.agent.draft import Draft
from chat.agent.events import (
    Compacted,
    End,
    EndReason,
    Event,
    ModelSilent,
    NotesRead,
    PicturesRefused,
    Reasoning,
    Reply,
    Retrying,
    StepStarted,
    Text,
    TextWasReasoning,
    TodoDraft,
    TodoUpdate,
    ToolCall,
    ToolCallEnded,
    ToolCallProgress,
    ToolCallStarted,
)
from chat.agent.limits import Spent
from chat.agent.meter import Meter
from chat.agent.model import Assembly, Delta, ModelError, ToolCallDelta
from chat.agent.person import Approve, Edits, Inbox, no_edits
from chat.agent.pictures import marked, painted
from chat.agent.progress import Watched
from chat.agent.prompts import phrase
from chat.agent.refused_pictures import refused_by, without
from chat.agent.results import answered_last
from chat.agent.riders import Riders
from chat.agent.todo import TODO_WRITE, Reminders, TodoItem, TodoList, todo_tool

if TYPE_CHECKING:
    from chat.agent.agent import Agent

# Takes the events of a turn in order. The turn goes on when it returns; what it raises ends the turn.
Emit = Callable[[Event], Awaitable[None]]

# Reasons for a reply to end that say that it is not whole, or that it asks for something.
_ENDED_EARLY = ("length", "content_filter")
_ASKS = ("tool_calls", "function_call")


class TurnRun:
    """A turn while it runs. Methods stand in the order in which a step calls them."""

    def __init__(
        self,
        agent: Agent,
        messages: Sequence[Mapping[str, Any]],
        todos: Sequence[TodoItem],
        spent: Spent,
        emit: Emit,
        inbox: Inbox,
        approve: Approve,
        unfinished: Reply | None = None,
        meter: Meter | None = None,
        edits: Edits = no_edits,
    ) -> None:
        self.agent = agent
        self.language = agent.language
        self.emit = emit
        self.inbox = inbox
        self.approve = approve
        self.budget = Budget(agent.limits, spent, agent.language)
        self.todos = TodoList(agent.todo_policy, todos, agent.language)
        self.endpoint, self.model = agent.asked_at
        offered = (todo_tool(self.todos), *agent.tools) if agent.traits.tools else ()
        self.tools = {tool.name: tool for tool in offered}
        self.reminders = Reminders(self.todos, spent.rounds, spent.reminders)
        self.riders = Riders(self.todos, self.reminders, edits)
        self.system = {"role": "system", "content": agent.system_prompt}
        self.messages = [dict(message) for message in messages]
        self.definitions = [tool.definition() for tool in offered]
        self.context = Context(agent, self.todos)
        self.meter = meter or Meter()
        self.reply = unfinished or Reply("", "", (), "")
        self.asked: ToolCall | None = None
        self.shown = False  # something of the reply that is being asked for

    async def run(self) -> None:
        """Run the turn to its end."""
        try:
            if self.reply.calls:
                await self._act()
            await self._step()
            while self.reply.calls:
                await self._step()
            ending = self._end("completed")
        except Undecided:
            ending = self._end("waiting")
        except LimitError as limit:
            ending = self._end("limit", str(limit))
        except ModelError as error:
            ending = self._end("failed", self._sentence(error))
        if self.meter.is_open:  # a reply that was cut is paid for
            await self.emit(self.meter.settle())
        await self.emit(dataclasses.replace(ending, usage=self.meter.total))

    async def _step(self) -> None:
        step = self.budget.start_step()
        # Only now is it sure that the model will read them.
        if self.reply.calls and (notes := tuple(await self.inbox())):
            self.messages += as_notes(notes)
            await self.emit(NotesRead(notes))
        await self._fit()
        told = await self.riders.tell(self.messages)  # the list, which says whether a reminder is due
        reminder = self.riders.remind(self.messages)
        await self.emit(StepStarted(step, reminder, self.endpoint, self.model, told))
        await self._ask()
        self.messages.append(self.reply.as_message(self.endpoint))
        if self.reply.calls:
            await self._act()
        elif self.reply.finish_reason in ("length", "content_filter"):
            raise LimitError(phrase(self.language, f"limit.{self.reply.finish_reason}"))
        elif name := written_call(self.reply.text, self.tools):
            raise ModelError("written_call", where=self.endpoint, model=self.model, name=name)

    async def _fit(self, overflow: ModelError | None = None) -> None:
        """Leave out what no longer fits into the model's window."""
        fitting = self.context.fit(self.messages, self.definitions, self.budget.steps, overflow)
        async with aclosing(fitting) as events:
            while (event := await self.budget.within_time(anext(events, None))) is not None:
                if isinstance(event, Compacted):
                    self.messages = compacted(self.messages, event)
                    if event.usage:
                        self.meter.total += event.usage
                await self.emit(event)

    async def _ask(self) -> None:
        """Ask the model; again where that may help and nothing of a reply was shown."""
        attempt, shortened, retry = 1, False, self.agent.retry
        loading = self.agent.traits.patience if retry.loading is None else retry.loading
        began = time.monotonic()
        while True:
            assembly = Assembly(self.tools)
            self.shown = False
            try:
                await self._stream(assembly)
                self._check_said(assembly)
                break
            except ModelError as error:
                self.meter.fail()
                if error.kind == "overflow" and not self.shown and not shortened:
                    shortened, before = True, self.messages
                    await self._fit(error)
                    if self.messages is not before:
                        continue
                if not self.shown and (refused := refused_by(error, self.messages)):
                    self.messages = without(self.messages, refused)
                    await self.emit(PicturesRefused(refused))
                    continue
                delay = retry.delay(attempt, error.retry_after)
                again_at = time.monotonic() - began + delay
                is_loading = error.kind == "loading" and again_at < loading
                may_retry = is_loading or (attempt < retry.attempts and again_at < retry.seconds)
                if self.shown or not error.retryable or not may_retry:
                    raise
                await self.emit(Retrying(attempt, delay, self._sentence(error)))
                await self.budget.within_time(asyncio.sleep(delay))
                attempt += not is_loading
        self.reply = assembly.reply()
        self.context.heard(assembly.usage)
        await self.emit(self.meter.settle())
        await self.emit(self.reply)

    async def _stream(self, assembly: Assembly) -> None:
        messages = [self.system, *as_sent(self.messages, self.language, plan=bool(self.tools))]
        self.meter.ask(messages, self.definitions, assembly)
        messages = await painted(messages, self.language)
        stream = aiter(self.agent.model.stream(messages, self.definitions, self.agent.options))
        draft, notice = Draft(self.todos), self.agent.retry.notice
        try:
            async with Watched(self._next(stream)) as first:
                if not await first.ends_within(notice):
                    await self.emit(ModelSilent(notice))
                    await first.next_report()  # there is none: it waits for the end
                    await self.emit(ModelSilent(notice, over=True))
            delta = first.result()
            while delta is not None:
                assembly.add(delta)
                if isinstance(delta, Text | Reasoning | TextWasReasoning):
                    await self._show(delta)
                elif isinstance(delta, ToolCallDelta) and (items := draft.read(assembly.calls)) is not None:
                    await self._show(TodoDraft(items))
                delta = await self._next(stream)
        except (ModelError, LimitError):
            if draft.items is not None:
                await self._show(TodoDraft(None))
            raise
        finally:
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()

    async def _show(self, event: Event) -> None:
        self.shown = True
        await self.emit(event)

    def _check_said(self, assembly: Assembly) -> None:
        """Raise ModelError for a reply of nothing, unless it follows results: then nothing is left to say."""
        said = assembly.text.strip() or assembly.calls or assembly.finish_reason in _ENDED_EARLY
        follows = self.messages[-1]["role"] == "tool" and assembly.finish_reason not in _ASKS
        if not said and not follows:
            raise ModelError("silent", retryable=True)

    async def _next(self, stream: AsyncIterator[Delta]) -> Delta | None:
        try:
            return await self.budget.within_time(anext(stream, None))
        except (ModelError, LimitError):
            raise
        except Exception as error:  # a model of any make; what it raises ends the turn, not the program
            raise ModelError("crashed", detail=f"{type(error).__name__}: {error}") from error

    async def _act(self) -> None:
        """Run the reply's calls one after the other. Each is answered, also when a limit ends the turn.

        Those of a reply that is taken up again are not run twice.
        """
        answered = answered_last(self.messages)
        wrote = any(call.name == TODO_WRITE and call.id in answered for call in self.reply.calls)
        over: LimitError | None = None
        for call in self.reply.calls:
            if call.id in answered:
                continue
            began, shown = time.monotonic(), ""
            try:
                if over:
                    raise over
                self.budget.start_call(call)
                ended = await self._refusal(call, second_write=wrote and call.name == TODO_WRITE)
                if ended is None:
                    began = time.monotonic()
                    await self.emit(ToolCallStarted(call))
                    async with Watched(outcome(call, self.tools, self.language)) as work:
                        while (text := await self.budget.within_time(work.next_report())) is not None:
                            await self.emit(ToolCallProgress(call, shown := text))
                        ended = work.result()
            except LimitError as limit:
                over = limit
                said = phrase(self.language, "call.not_run", reason=limit)
                ended = Outcome.failed(f"{said}\n{shown}".rstrip("\n"))
            wrote = wrote or call.name == TODO_WRITE
            for event in self._answer(call, ended.after(time.monotonic() - began)):
                await self.emit(event)
        self.reminders.count_round(wrote=wrote)
        if over:
            raise over

    async def _refusal(self, call: ToolCall, *, second_write: bool) -> Outcome | None:
        """How the call ends without having run, or None if it may run."""
        if second_write:
            return Outcome.failed(str(self.todos.reader.refusal("second_write")))
        if self.reply.finish_reason == "length" and not readable(call.arguments):
            return Outcome.failed(phrase(self.language, "call.cut"))
        self.asked = call
        with self.budget.stopped_clock():
            reason = await self.approve(call)
        self.asked = None
        return None if reason is None else Outcome.denied(reason, self.language)

    def _answer(self, call: ToolCall, ended: Outcome) -> list[Event]:
        result = {"role": "tool", "tool_call_id": call.id, "content": ended.result.text}
        self.messages.append(result | marked(ended.result.pictures))
        events: list[Event] = [ToolCallEnded(call, ended.status, ended.result, ended.seconds)]
        if call.name == TODO_WRITE:
            accepted = ended.status == "succeeded"
            events.insert(0, TodoUpdate(call, self.todos.items) if accepted else TodoDraft(None))
        return events

    def _sentence(self, error: ModelError) -> str:
        try:
            return phrase(self.language, f"model.{error.kind}", **error.values)
        except KeyError:  # a model of one's own may have kinds of its own
            detail = f"{error.kind}: {error.values.get('detail', '')}"
            return phrase(self.language, "model.crashed", detail=detail)

    def _end(self, reason: EndReason, sentence: str = "") -> End:
        text = self.reply.text
        steps, usage = self.budget.steps, self.meter.total
        return End(reason, text, sentence, self.todos.items, usage, steps, self.asked, tuple(self.messages))
