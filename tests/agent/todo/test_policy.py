"""Policies are selected by name, and can be changed within limits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chat.agent.todo import POLICIES, Status, TodoError, TodoList, as_policy


def test_a_policy_is_found_by_its_name_and_an_unknown_name_is_told() -> None:
    assert as_policy("lean") is POLICIES["lean"]
    with pytest.raises(ValueError, match="unknown todo policy 'strict'; there are: focused, lean, checklist"):
        as_policy("strict")


def test_the_maximum_can_be_changed_and_the_refusal_names_it() -> None:
    todos = TodoList(replace(POLICIES["lean"], max_items=2))
    with pytest.raises(TodoError, match="Max 2 todos allowed"):
        todos.write({"todos": [{"content": "a"}, {"content": "b"}, {"content": "c"}]})


@pytest.mark.parametrize("change", [{"max_items": 0}, {"remind_after": 0}])
def test_a_policy_without_room_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="room for one item"):
        replace(POLICIES["focused"], **change)


def test_a_state_has_the_policys_own_word() -> None:
    assert POLICIES["checklist"].word(Status.COMPLETED) == "done"
    assert POLICIES["focused"].word(Status.COMPLETED) == "completed"
