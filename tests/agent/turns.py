"""Helpers that run a turn and select its events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from chat.agent import Agent, End, Event

E = TypeVar("E")

HELLO = [{"role": "user", "content": "hello"}]
PLAN = {
    "items": [
        {"content": "Read", "status": "in_progress", "activeForm": "Reading"},
        {"content": "Write", "status": "pending", "activeForm": "Writing"},
    ]
}


async def told(agent: Agent, messages: Sequence[dict[str, Any]] = HELLO, **turn: Any) -> list[Event]:
    return [event async for event in agent.run(messages, **turn)]


def of(kind: type[E], events: Sequence[Any]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


def end(events: Sequence[Event]) -> End:
    """The turn's only `End`, its last event."""
    assert len(of(End, events)) == 1
    assert isinstance(events[-1], End)
    return events[-1]


def results(request: dict[str, Any]) -> list[str]:
    return [message["content"] for message in request["messages"] if message["role"] == "tool"]
