"""One turn of an agent: think, act, go on until a reply asks for nothing more."""

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
from chat.agent.calls import Outcome, Undecided, answered_last, first_of_the_latest, outcome, written_call
from chat.agent.context import Context, as_notes, as_sent, compacted
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
from chat.agent.hooks import Approve, Edits, Inbox, no_edits
from chat.agent.limits import Limits, Spent
from chat.agent.meter import Meter
from chat.agent.model import Assembly, Delta, ModelError, ToolCallDelta
from chat.agent.model.assembly import OpenCall
from chat.agent.pictures import MARK, Picture, marked, painted
from chat.agent.progress import Watched
from chat.agent.prompts import Language, phrase
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
        self.riders = RequestNotes(self.todos, self.reminders, edits)
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
        builder = self.context.fit(self.messages, self.definitions, self.budget.steps, overflow)
        async with aclosing(builder) as events:
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


T = TypeVar("T")


class LimitError(Exception):
    """The turn used up one of its limits; the message is the sentence that says which."""


class Budget:
    """Counts a turn's steps, tool calls and seconds against its limits."""

    def __init__(self, limits: Limits, spent: Spent, language: Language) -> None:
        self.limits = limits
        self.language = language
        self.steps = spent.steps
        self.tool_calls = spent.tool_calls
        self.deadline = time.monotonic() + limits.seconds - spent.seconds
        self.last_call = ("", "")
        self.repeats = 0

    def start_step(self) -> int:
        """Count a step and give its number; raises LimitError when anything that it needs is used up."""
        if self.steps >= self.limits.steps:
            raise self._error("steps", self.limits.steps)
        if self.tool_calls >= self.limits.tool_calls:
            raise self._error("tool_calls", self.limits.tool_calls)
        if self._seconds_left() <= 0:
            raise self._error("seconds", self.limits.seconds)
        self.steps += 1
        return self.steps

    def start_call(self, call: ToolCall) -> None:
        """Count a tool call; raises LimitError when it is one too many, or the same once too often."""
        same = (call.name, call.arguments) == self.last_call
        self.last_call = (call.name, call.arguments)
        self.repeats = self.repeats + 1 if same else 1
        if self.tool_calls >= self.limits.tool_calls:
            raise self._error("tool_calls", self.limits.tool_calls)
        if self.repeats >= self.limits.repeats:
            raise self._error("repeats", self.limits.repeats, name=call.name)
        self.tool_calls += 1

    async def within_time(self, work: Awaitable[T]) -> T:
        """Await `work`, but not past the turn's time; raises LimitError then, with the work cancelled."""
        try:
            async with asyncio.timeout(self._seconds_left()) as time_limit:
                return await work
        except TimeoutError:
            if time_limit.expired():
                raise self._error("seconds", self.limits.seconds) from None
            raise

    @contextmanager
    def stopped_clock(self) -> Iterator[None]:
        """What happens in here takes none of the turn's time: a person is asked."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.deadline += time.monotonic() - began

    def _seconds_left(self) -> float:
        return self.deadline - time.monotonic()

    def _error(self, which: str, maximum: float, **values: str) -> LimitError:
        return LimitError(phrase(self.language, f"limit.{which}", maximum=f"{maximum:g}", **values))


# Characters; a list of twenty items is far shorter, and each piece means reading all of it again.
MAX_DRAFT = 64 * 1024


class Draft:
    """Follows the first `TodoWrite` of a reply; `items` is what was last shown of it, None for nothing."""

    def __init__(self, todos: TodoList) -> None:
        self.todos = todos
        self.items: tuple[TodoItem, ...] | None = None

    def read(self, calls: Sequence[OpenCall]) -> tuple[TodoItem, ...] | None:
        """The list that the calls, half written, amount to, or None when it did not change."""
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


# An endpoint's complaint about a picture that it was sent, and none about pictures as such.
ABOUT_A_PICTURE = re.compile(r"\b(?:image|picture|photo|media)s?\b|image_url|base64", re.IGNORECASE)
_KINDS = ("refused", "reported", "unavailable")

Message = Mapping[str, Any]


def refused_by(error: ModelError, messages: Sequence[Message]) -> tuple[Picture, ...]:
    """The pictures that the error is about: the new ones, or all where none is new; none for another error.

    New are those that no reply has followed yet.
    """
    if error.kind not in _KINDS or not ABOUT_A_PICTURE.search(str(error.values.get("detail", ""))):
        return ()
    said = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
    # The latest reply may be the one that asked for the pictures, so what follows it is new.
    new = _sent(messages[said[-1] + 1 :] if said else messages)
    return new or _sent(messages)


def without(messages: Sequence[Message], pictures: Sequence[Picture]) -> list[dict[str, Any]]:
    """The messages with these pictures named as refused."""
    return [
        {**message, MARK: tuple(_refused(each, pictures) for each in message[MARK])}
        if MARK in message
        else dict(message)
        for message in messages
    ]


def _sent(messages: Sequence[Message]) -> tuple[Picture, ...]:
    return tuple(each for message in messages for each in message.get(MARK, ()) if not each.fault)


def _refused(picture: Picture, refused: Sequence[Picture]) -> Picture:
    return replace(picture, fault="refused") if picture in refused else picture


class RequestNotes:
    """Puts them where the request carries them: ahead of the first of the latest results.

    Nothing may stand between a call and its results, and some endpoints allow no message of the person's
    right after them. In a turn's first request there is no result: what the person changed stands ahead of
    their words.
    """

    def __init__(self, todos: TodoList, reminders: Reminders, edits: Edits) -> None:
        self.todos = todos
        self.reminders = reminders
        self.edits = edits

    async def tell(self, messages: list[dict[str, Any]]) -> str:
        """Take in what the person has made of the list, and tell the model so; gives the note."""
        items = await self.edits()
        note = self.todos.take(items) if items is not None else ""
        begins = bool(messages) and begins_turn(messages[-1])
        carrier = messages[-1] if begins else first_of_the_latest(messages)
        if carrier and note:
            carrier["told"] = note
        return note

    def remind(self, messages: list[dict[str, Any]]) -> str:
        """Give a reminder that is due; the text of it."""
        result = first_of_the_latest(messages)
        reminder = self.reminders.due() if result else ""
        if result and reminder:
            result["reminder"] = reminder
        return reminder
