"""The library's aliases for names in common descriptions of such agents."""

from __future__ import annotations

from typing import get_args

import chat.agent
from chat.agent import (
    VALID_STATUSES,
    Event,
    EventType,
    Text,
    TodoItem,
    TodoPolicy,
    TodoUpdate,
    ToolCall,
    events,
)
from chat.agent.todo import POLICIES, TODO_WRITE

CALL = ToolCall("1", TODO_WRITE, "{}")


def test_every_exported_name_exists_once() -> None:
    assert len(set(chat.agent.__all__)) == len(chat.agent.__all__)
    assert all(hasattr(chat.agent, name) for name in chat.agent.__all__)


def test_the_valid_statuses_are_those_of_a_policy() -> None:
    assert VALID_STATUSES == {
        "focused": ("pending", "in_progress", "completed"),
        "lean": ("pending", "completed"),
        "checklist": ("pending", "in_progress", "done"),
    }
    policy: TodoPolicy = POLICIES["lean"]
    assert policy.VALID_STATUSES == ("pending", "completed")


def test_there_is_one_event_type_for_each_event() -> None:
    kinds = get_args(events.AnyEvent)
    assert [kind.type for kind in kinds] == list(EventType)
    assert [member.name for member in EventType] == [kind.type.upper() for kind in kinds]
    assert EventType.TODO_UPDATE == TodoUpdate.type == "todo_update"
    assert {kind.__name__ for kind in kinds} < set(chat.agent.__all__)


def test_event_makes_each_event_by_its_type() -> None:
    item = TodoItem("Read")
    update = Event.todo_update(CALL, (item,))
    assert update == TodoUpdate(CALL, (item,))
    assert (update.type, isinstance(update, Event), isinstance(item, Event)) == ("todo_update", True, False)
    assert Event.text("hello") == Text("hello")
    for kind in get_args(events.AnyEvent):
        assert getattr(Event, kind.type) is kind
        assert issubclass(kind, Event)
