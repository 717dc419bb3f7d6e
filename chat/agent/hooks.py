"""What a turn at work asks of the person: what to read, how the list stands, whether a call may run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from chat.agent.events import ToolCall
from chat.agent.todo import TodoItem

Inbox = Callable[[], Awaitable[Sequence[Mapping[str, Any]]]]
# The todo list as the person has changed it, with what the model wrote since in it (see `merged`); None where
# they changed nothing since this was last asked.
Edits = Callable[[], Awaitable[Sequence[TodoItem] | None]]
# Decides on a call before it runs: None lets it, a text (perhaps empty) denies it and tells the model why.
# Raises Undecided where the answer takes longer than the turn is to be kept.
Approve = Callable[[ToolCall], Awaitable[str | None]]


async def no_notes() -> Sequence[Mapping[str, Any]]:
    """The inbox of a turn that nobody writes to."""
    return ()


async def no_edits() -> Sequence[TodoItem] | None:
    """The list of a turn whose list nobody else changes."""
    return None


async def allow(_call: ToolCall) -> str | None:
    """The decision where nobody is asked."""
    return None
