"""One turn of an agent: call the model, run its tool calls, repeat until a reply requests none."""

from __future__ import annotations

import asyncio
import dataclasses
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from jiter import from_json

from chat.agent.arguments import readable
from chat.agent.calls import (
    CallOutcome,
    Undecided,
    answered_call_ids,
    first_latest_result,
    run_call,
    written_call,
)
from chat.agent.context import Context, as_notes, compacted, render_messages
from chat.agent.context.annotations import begins_turn
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
from chat.agent.hooks import Approve, Edits, Inbox
from chat.agent.limits import Limits, Spent
from chat.agent.meter import Meter
from chat.agent.model import Assembly, Delta, ModelError, ToolCallDelta
from chat.agent.model.assembly import OpenCall
from chat.agent.pictures import PICTURES_KEY, Picture, pictures_field, with_pictures_in_thread
from chat.agent.progress import Watched
from chat.agent.prompts import Language, phrase
from chat.agent.todo import TODO_WRITE, Reminders, TodoItem, TodoList, todo_tool
from chat.agent.tool import REFUSAL

if TYPE_CHECKING:
    from chat.agent.agent import Agent


# Receives a turn's events in order. The turn continues when it returns; an exception ends the turn.
Emit = Callable[[Event], Awaitable[None]]

# Finish reasons of a truncated reply, and of one that requests tool calls.
_TRUNCATED = ("length", "content_filter")
_REQUESTS_CALLS = ("tool_calls", "function_call")


class TurnRun:
    """A running turn. Methods stand in the order in which a step calls them."""

    def __init__(
        self,
        agent: Agent,
        messages: Sequence[Mapping[str, Any]],
        todos: TodoList,
        *,
        spent: Spent,
        emit: Emit,
        inbox: Inbox,
        approve: Approve,
        unfinished: Reply | None,
        meter: Meter | None,
        edits: Edits,
    ) -> None:
        self.agent = agent
        self.language = agent.language
        self.user_language = agent.user_language  # of the sentence that says why the turn ended
        self.emit = emit
        self.inbox = inbox
        self.approve = approve
        self.budget = Budget(agent.limits, spent, agent.user_language)
        self.todos = todos
        self.endpoint, self.model = agent.endpoint_and_model
        tools = (todo_tool(self.todos), *agent.tools) if agent.traits.tools else ()
        self.tools = {tool.name: tool for tool in tools}
        self.reminders = Reminders(self.todos, spent.rounds, spent.reminders)
        self.request_notes = RequestNotes(self.todos, self.reminders, edits)
        self.system = {"role": "system", "content": agent.system_prompt}
        self.messages = [dict(message) for message in messages]
        self.definitions = [tool.definition() for tool in tools]
        self.context = Context(agent, self.todos)
        self.meter = meter or Meter()
        self.reply = unfinished or Reply("", "", (), "")
        self.pending_call: ToolCall | None = None
        self.emitted = False  # whether part of the current reply was emitted

    async def run(self) -> None:
        try:
            if self.reply.calls:
                await self._run_calls()
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
        if self.meter.is_open:  # an interrupted reply costs tokens, too
            await self.emit(self.meter.settle())
        await self.emit(dataclasses.replace(ending, usage=self.meter.total))

    async def _step(self) -> None:
        step = self.budget.start_step()
        # Polled only here, when it is certain that the model will read them.
        if self.reply.calls and (notes := tuple(await self.inbox())):
            self.messages += as_notes(notes)
            await self.emit(NotesRead(notes))
        await self._compact_if_needed()
        # Edits first: the list decides whether a reminder is due.
        edit_note = await self.request_notes.attach_edits(self.messages)
        reminder = self.request_notes.attach_reminder(self.messages)
        await self.emit(StepStarted(step, reminder, self.endpoint, self.model, edit_note))
        await self._call_model()
        self.messages.append(self.reply.as_message(self.endpoint))
        if self.reply.calls:
            await self._run_calls()
        elif self.reply.finish_reason in _TRUNCATED:
            raise LimitError(phrase(self.user_language, f"limit.{self.reply.finish_reason}"))
        elif name := written_call(self.reply.text, self.tools):
            raise ModelError("written_call", where=self.endpoint, model=self.model, name=name)

    async def _compact_if_needed(self, overflow: ModelError | None = None) -> None:
        compaction = self.context.fit(self.messages, self.definitions, self.budget.steps, overflow)
        async with aclosing(compaction) as events:
            while (event := await self.budget.within_time(anext(events, None))) is not None:
                if isinstance(event, Compacted):
                    self.messages = compacted(self.messages, event)
                    self.meter.carried = 0
                    if event.usage:
                        self.meter.total += event.usage
                await self.emit(event)

    async def _call_model(self) -> None:
        """Call the model; retry if that may help and none of the reply has been emitted."""
        attempt, shortened, retry = 1, False, self.agent.retry
        loading = self.agent.traits.first_byte_timeout if retry.loading is None else retry.loading
        began = time.monotonic()
        while True:
            assembly = Assembly(self.tools)
            self.emitted = False
            try:
                await self._stream(assembly)
                self._check_not_empty(assembly)
                break
            except ModelError as error:
                self.meter.fail()
                if error.kind == "overflow" and not self.emitted and not shortened:
                    shortened, before = True, self.messages
                    await self._compact_if_needed(error)
                    if self.messages is not before:
                        continue
                if not self.emitted and (refused := refused_pictures(error, self.messages)):
                    self.messages = mark_refused(self.messages, refused)
                    await self.emit(PicturesRefused(refused))
                    continue
                delay = retry.delay(attempt, error.retry_after)
                again_at = time.monotonic() - began + delay
                is_loading = error.kind == "loading" and again_at < loading
                may_retry = is_loading or (attempt < retry.attempts and again_at < retry.seconds)
                if self.emitted or not error.retryable or not may_retry:
                    raise
                await self.emit(Retrying(attempt, delay, self._sentence(error)))
                await self.budget.within_time(asyncio.sleep(delay))
                attempt += not is_loading
        self.reply = assembly.reply()
        self.context.calibrate(assembly.usage)
        await self.emit(self.meter.settle())
        await self.emit(self.reply)

    async def _stream(self, assembly: Assembly) -> None:
        messages = [self.system, *render_messages(self.messages, self.language, plan=bool(self.tools))]
        self.meter.ask(messages, self.definitions, assembly)
        messages = await with_pictures_in_thread(messages, self.language)
        stream = aiter(self.agent.model.stream(messages, self.definitions, self.agent.options))
        draft, notice = Draft(self.todos), self.agent.retry.notice
        try:
            async with Watched(self._next(stream)) as first:
                if not await first.ends_within(notice):
                    await self.emit(ModelSilent(notice))
                    await first.next_report()  # never reports, so this waits for the end
                    await self.emit(ModelSilent(notice, over=True))
            delta = first.result()
            while delta is not None:
                assembly.add(delta)
                if isinstance(delta, Text | Reasoning | TextWasReasoning):
                    await self._emit_part(delta)
                elif isinstance(delta, ToolCallDelta) and (items := draft.read(assembly.calls)) is not None:
                    await self._emit_part(TodoDraft(items))
                delta = await self._next(stream)
        except (ModelError, LimitError):
            if draft.items is not None:
                await self._emit_part(TodoDraft(None))
            raise
        finally:
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()

    async def _emit_part(self, event: Event) -> None:
        self.emitted = True
        await self.emit(event)

    def _check_not_empty(self, assembly: Assembly) -> None:
        """Raise ModelError for an empty reply, unless it follows results and may have nothing to add."""
        has_content = assembly.text.strip() or assembly.calls or assembly.finish_reason in _TRUNCATED
        may_be_empty = self.messages[-1]["role"] == "tool" and assembly.finish_reason not in _REQUESTS_CALLS
        if not has_content and not may_be_empty:
            raise ModelError("empty_reply", retryable=True)

    async def _next(self, stream: AsyncIterator[Delta]) -> Delta | None:
        try:
            return await self.budget.within_time(anext(stream, None))
        except (ModelError, LimitError):
            raise
        except Exception as error:  # a custom model may raise anything; it ends the turn, not the program
            raise ModelError("crashed", detail=f"{type(error).__name__}: {error}") from error

    async def _run_calls(self) -> None:
        """Run the calls that have no result yet, in order; each gets one, even if a limit ends the turn."""
        answered = answered_call_ids(self.messages)
        wrote = any(call.name == TODO_WRITE and call.id in answered for call in self.reply.calls)
        reached: LimitError | None = None
        for call in self.reply.calls:
            if call.id in answered:
                continue
            began, progress = time.monotonic(), ""
            try:
                if reached:
                    raise reached
                self.budget.start_call(call)
                outcome = await self._refusal(call, second_write=wrote and call.name == TODO_WRITE)
                if outcome is None:
                    began = time.monotonic()
                    await self.emit(ToolCallStarted(call))
                    async with Watched(run_call(call, self.tools, self.language)) as work:
                        while (text := await self.budget.within_time(work.next_report())) is not None:
                            await self.emit(ToolCallProgress(call, progress := text))
                        outcome = work.result()
            except LimitError as limit:
                reached = limit
                reason = phrase(self.language, "call.not_run", reason=limit)
                outcome = CallOutcome.failed(f"{reason}\n{progress}".rstrip("\n"), {REFUSAL: "call.not_run"})
            wrote = wrote or call.name == TODO_WRITE
            for event in self._add_result(call, outcome.after(time.monotonic() - began)):
                await self.emit(event)
        self.reminders.count_round(wrote=wrote)
        if reached:
            raise reached

    async def _refusal(self, call: ToolCall, *, second_write: bool) -> CallOutcome | None:
        if second_write:
            refusal = self.todos.reader.refusal("second_write")
            return CallOutcome.failed(str(refusal), refusal.detail)
        if self.reply.finish_reason == "length" and not readable(call.arguments):
            return CallOutcome.failed(phrase(self.language, "call.cut"), {REFUSAL: "call.cut"})
        self.pending_call = call
        with self.budget.paused():
            reason = await self.approve(call)
        self.pending_call = None
        return None if reason is None else CallOutcome.denied(reason, self.language)

    def _add_result(self, call: ToolCall, outcome: CallOutcome) -> list[Event]:
        result = {"role": "tool", "tool_call_id": call.id, "content": outcome.result.text}
        self.messages.append(result | pictures_field(outcome.result.pictures))
        events: list[Event] = [ToolCallEnded(call, outcome.status, outcome.result, outcome.seconds)]
        if call.name == TODO_WRITE:
            accepted = outcome.status == "succeeded"
            events.insert(0, TodoUpdate(call, self.todos.items) if accepted else TodoDraft(None))
        return events

    def _sentence(self, error: ModelError) -> str:
        try:
            return phrase(self.user_language, f"model.{error.kind}", **error.values)
        except KeyError:  # a custom model may use its own kinds
            detail = f"{error.kind}: {error.values.get('detail', '')}"
            return phrase(self.user_language, "model.crashed", detail=detail)

    def _end(self, reason: EndReason, sentence: str = "") -> End:
        text = self.reply.text
        steps, usage = self.budget.steps, self.meter.total
        return End(
            reason, text, sentence, self.todos.items, usage, steps, self.pending_call, tuple(self.messages)
        )


T = TypeVar("T")


class LimitError(Exception):
    pass


class Budget:
    def __init__(self, limits: Limits, spent: Spent, language: Language) -> None:
        self.limits = limits
        self.language = language
        self.steps = spent.steps
        self.tool_calls = spent.tool_calls
        self.deadline = time.monotonic() + limits.seconds - spent.seconds
        self.last_call = ("", "")
        self.repeats = 0

    def start_step(self) -> int:
        if self.steps >= self.limits.steps:
            raise self._error("steps", self.limits.steps)
        if self.tool_calls >= self.limits.tool_calls:
            raise self._error("tool_calls", self.limits.tool_calls)
        if self._seconds_left() <= 0:
            raise self._error("seconds", self.limits.seconds)
        self.steps += 1
        return self.steps

    def start_call(self, call: ToolCall) -> None:
        same = (call.name, call.arguments) == self.last_call
        self.last_call = (call.name, call.arguments)
        self.repeats = self.repeats + 1 if same else 1
        if self.tool_calls >= self.limits.tool_calls:
            raise self._error("tool_calls", self.limits.tool_calls)
        if self.repeats >= self.limits.repeats:
            raise self._error("repeats", self.limits.repeats, name=call.name)
        self.tool_calls += 1

    async def within_time(self, work: Awaitable[T]) -> T:
        """Await `work` within the turn's remaining time; at the deadline cancels it and raises LimitError."""
        try:
            async with asyncio.timeout(self._seconds_left()) as time_limit:
                return await work
        except TimeoutError:
            if time_limit.expired():
                raise self._error("seconds", self.limits.seconds) from None
            raise

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Time spent in this context does not count against the turn: the user is being asked."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.deadline += time.monotonic() - began

    def _seconds_left(self) -> float:
        return self.deadline - time.monotonic()

    def _error(self, which: str, maximum: float, **values: str) -> LimitError:
        return LimitError(phrase(self.language, f"limit.{which}", maximum=f"{maximum:g}", **values))


# Characters; a list of twenty items is far shorter, and each piece means parsing it all again.
MAX_DRAFT = 64 * 1024


class Draft:
    """The first `TodoWrite` of a streaming reply; `items` is the list last emitted, None if none."""

    def __init__(self, todos: TodoList) -> None:
        self.todos = todos
        self.items: tuple[TodoItem, ...] | None = None

    def read(self, calls: Sequence[OpenCall]) -> tuple[TodoItem, ...] | None:
        call = next((call for call in calls if call.name == TODO_WRITE), None)
        if call is None or not call.arguments or len(call.arguments) > MAX_DRAFT:
            return None
        try:
            arguments = from_json(call.arguments.encode(), partial_mode="trailing-strings")
        except ValueError:
            return None
        items = self.todos.draft(arguments)
        if not items or items == self.items:
            return None
        self.items = items
        return items


# Errors about a picture in the request, as opposed to pictures in general.
ABOUT_A_PICTURE = re.compile(r"\b(?:image|picture|photo|media)s?\b|image_url|base64", re.IGNORECASE)
_KINDS = ("refused", "reported", "unavailable")

Message = Mapping[str, Any]


def refused_pictures(error: ModelError, messages: Sequence[Message]) -> tuple[Picture, ...]:
    """The pictures since the last reply, or else all, if the error is about pictures."""
    if error.kind not in _KINDS or not ABOUT_A_PICTURE.search(str(error.values.get("detail", ""))):
        return ()
    replies = [index for index, message in enumerate(messages) if message["role"] == "assistant"]
    # The latest reply may have requested the pictures, so those after it are new.
    new = _sent_pictures(messages[replies[-1] + 1 :] if replies else messages)
    return new or _sent_pictures(messages)


def mark_refused(messages: Sequence[Message], pictures: Sequence[Picture]) -> list[dict[str, Any]]:
    return [
        {**message, PICTURES_KEY: tuple(_refused(each, pictures) for each in message[PICTURES_KEY])}
        if PICTURES_KEY in message
        else dict(message)
        for message in messages
    ]


def _sent_pictures(messages: Sequence[Message]) -> tuple[Picture, ...]:
    return tuple(each for message in messages for each in message.get(PICTURES_KEY, ()) if not each.fault)


def _refused(picture: Picture, refused: Sequence[Picture]) -> Picture:
    return replace(picture, fault="refused") if picture in refused else picture


class RequestNotes:
    """Attaches notes (todo edits, reminders) to the message that carries them in the next request.

    That is the first of the latest results: nothing may stand between a call and its results, and some
    endpoints allow no user message right after them. A turn's first request has no results, so edits are
    attached to the user's message.
    """

    def __init__(self, todos: TodoList, reminders: Reminders, edits: Edits) -> None:
        self.todos = todos
        self.reminders = reminders
        self.edits = edits

    async def attach_edits(self, messages: list[dict[str, Any]]) -> str:
        """Apply the user's edits to the list and attach a note for the model; returns the note."""
        items = await self.edits()
        note = self.todos.apply_edits(items) if items is not None else ""
        is_first_request = bool(messages) and begins_turn(messages[-1])
        carrier = messages[-1] if is_first_request else first_latest_result(messages)
        if carrier and note:
            carrier["edit_note"] = note
        return note

    def attach_reminder(self, messages: list[dict[str, Any]]) -> str:
        result = first_latest_result(messages)
        reminder = self.reminders.due() if result else ""
        if result and reminder:
            result["reminder"] = reminder
        return reminder
