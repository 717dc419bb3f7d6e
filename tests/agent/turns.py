"""A turn told to its end, and what there is to see in it."""

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
    """All events of one turn."""
    return [event async for event in agent.run(messages, **turn)]


def of(kind: type[E], events: Sequence[Any]) -> list[E]:
    """The events of one kind, in order."""
    return [event for event in events if isinstance(event, kind)]


def end(events: Sequence[Event]) -> End:
    """The turn's end: the last event, and the only one of its kind."""
    assert len(of(End, events)) == 1
    assert isinstance(events[-1], End)
    return events[-1]


def results(request: dict[str, Any]) -> list[str]:
    """The tool results that a request carries, in order."""
    return [message["content"] for message in request["messages"] if message["role"] == "tool"]
