"""What a turn may still use of its limits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from chat.agent.events import ToolCall
from chat.agent.limits import Limits, Spent
from chat.agent.prompts import Language, phrase

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
