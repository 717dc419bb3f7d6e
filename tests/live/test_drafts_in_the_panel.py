"""The list that a page shows while the agent writes it again: what is there stays where it is."""

from __future__ import annotations

from chat.live.todo_panel import Item, drafted


def items(*ids: str) -> list[Item]:
    return [{"id": each, "content": each.upper(), "status": "pending"} for each in ids]


def ids_while_written(listed: list[Item], written: list[Item], kept: set[str]) -> list[list[str]]:
    """The ids shown with one item written, with two, and so on."""
    drafts = [drafted(written[:count], listed, kept) for count in range(1, len(written) + 1)]
    return [[item["id"] for item in draft] for draft in drafts]


def test_the_users_items_stay_above_a_list_that_leaves_them_out() -> None:
    listed = items("mine", "too", "a", "b", "c")
    shown = ids_while_written(listed, items("a", "b", "c"), {"mine", "too"})
    assert shown == [["mine", "too", "a", "b", "c"]] * 3


def test_they_stay_between_those_of_the_agent() -> None:
    listed = items("a", "mine", "b", "too", "c")
    shown = ids_while_written(listed, items("a", "b", "c"), {"mine", "too"})
    assert shown == [["a", "mine", "b", "too", "c"]] * 3


def test_they_stay_where_the_agent_lists_them_too() -> None:
    listed = items("mine", "a", "too", "b")
    assert ids_while_written(listed, listed, {"mine", "too"}) == [["mine", "a", "too", "b"]] * 4


def test_another_item_takes_the_place_of_the_agents_not_of_the_users() -> None:
    shown = ids_while_written(items("mine", "a", "b"), items("new", "b"), {"mine"})
    assert shown == [["mine", "new", "b"]] * 2
