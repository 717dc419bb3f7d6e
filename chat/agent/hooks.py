"""What a running turn asks its caller for: new messages, todo edits, approval of calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from chat.agent.events import ToolCall
from chat.agent.todo import TodoItem

Inbox = Callable[[], Awaitable[Sequence[Mapping[str, Any]]]]
# Returns the todo list with the user's changes and what the model wrote since (see `merged`); None if the
# user changed nothing since the last call.
Edits = Callable[[], Awaitable[Sequence[TodoItem] | None]]
# Decides on a call before it runs: None allows it; a text (may be empty) denies it and tells the model why.
# Raises Undecided if the decision takes longer than the turn should be kept in memory.
Approve = Callable[[ToolCall], Awaitable[str | None]]


async def no_notes() -> Sequence[Mapping[str, Any]]:
    return ()


async def no_edits() -> Sequence[TodoItem] | None:
    return None


async def allow(_call: ToolCall) -> str | None:
    return None
