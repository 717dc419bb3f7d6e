"""The demo continues with the list as the user edited it."""

from __future__ import annotations

import pytest

from chat.agent.todo import TodoItem
from tests.demo.conftest import Talk
from tests.demo.turns import Conversation

FIVE = "Refactor these five files"


def without_orders(items: list[TodoItem]) -> list[TodoItem]:
    """The list without one of its items, and with another."""
    kept = [item for item in items if "orders" not in item.content]
    return [*kept, TodoItem("Look around", active_form="Look around", key="9", id="mine")]


def texts(conversation: Conversation) -> list[str]:
    return [item.content.rpartition("/")[2] for item in conversation.todos.items]


@pytest.mark.parametrize("policy", ["focused", "lean", "checklist"])
@pytest.mark.parametrize("calls", [1, 7, 9])
async def test_it_works_by_the_persons_list(talk: Talk, policy: str, calls: int) -> None:
    """Changed behind its own list, the files that it sets up, or an item's work."""
    conversation = talk(policy)
    conversation.changes = {calls + 1: without_orders}
    await conversation.say(FIVE)
    assert texts(conversation) == ["cart.py", "prices.py", "stock.py", "report.py", "Look around"]
    assert not conversation.changes
    await conversation.say("Keep the new version")
    assert texts(conversation) == ["cart.py", "prices.py", "stock.py", "report.py", "Look around"]
    assert conversation.todos.complete
    edited = [call.arguments["path"] for call in conversation.calls if call.name == "edit_file"]
    assert not [path for path in edited if "orders" in path]


async def test_between_turns_too(talk: Talk) -> None:
    conversation = talk()
    await conversation.say(FIVE)
    told = conversation.todos.apply_edits(without_orders(list(conversation.todos.items)))
    await conversation.say(f"<todo-change>{told}</todo-change>\nKeep the new version")
    assert texts(conversation) == ["cart.py", "prices.py", "stock.py", "report.py", "Look around"]
    assert conversation.todos.complete
