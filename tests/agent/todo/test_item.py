"""Items keep their ids from list to list: by key, then text, then position."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chat.agent.todo import POLICIES, Status, TodoItem, TodoList
from tests.agent.todo.lists import item, written


def ids(todos: TodoList) -> dict[str, str]:
    return {todo.content: todo.id for todo in todos.items}


def test_every_item_gets_an_id_of_its_own() -> None:
    todos = TodoList()
    todos.write(written("focused", "a", "b", "b"))
    assert len({todo.id for todo in todos.items}) == 3
    assert all(todo.id for todo in todos.items)


def test_an_id_stays_with_the_key_that_the_model_chose_whatever_the_text() -> None:
    todos = TodoList("checklist")
    todos.write({"items": [item("checklist", "a", key="1"), item("checklist", "b", key="2")]})
    before = ids(todos)
    todos.write({"items": [item("checklist", "b, better", key="2"), item("checklist", "a", key="1")]})
    assert ids(todos) == {"b, better": before["b"], "a": before["a"]}


def test_an_id_stays_with_the_exact_text_when_the_order_changes() -> None:
    todos = TodoList()
    todos.write(written("focused", "a", "b", "c"))
    before = ids(todos)
    todos.write(written("focused", "c", "a", "b"))
    assert ids(todos) == before


def test_a_reworded_item_keeps_its_id_by_its_position() -> None:
    todos = TodoList()
    todos.write(written("focused", "a", "b", "c"))
    before = ids(todos)
    todos.write(written("focused", "a", "b, reworded", "c"))
    assert ids(todos)["b, reworded"] == before["b"]


def test_other_words_in_the_place_of_an_item_of_the_users_are_another_item() -> None:
    todos = TodoList()
    todos.write(written("focused", "a", "b"))
    todos.apply_edits([*todos.items, TodoItem("the user's", id="u")])
    todos.write(written("focused", "a", "b, reworded", "c"))
    assert "u" not in ids(todos).values()
    todos.apply_edits([*todos.items, TodoItem("the user's", id="u")])
    todos.write(written("focused", "a", "the user's", "b", "c"))
    assert ids(todos)["the user's"] == "u"


@pytest.mark.parametrize(
    ("edited", "new", "expected"),
    [
        ("b c", "W M W", "b c"),
        ("b c", "M W", "b c"),
        ("b c", "W M W N", "b c new"),
        ("a b", "W M W", "a b"),
        ("a b", "W M", "a b"),
        ("c a b", "W M W", "c a b"),
        ("c a b", "W W M", "c a b"),
        ("a:V b c", "W M W", "a b c"),
        ("a:V b c", "V M W", "a b c"),
        ("a:V b c", "V W M W", "a c b new"),
        ("u:W a b c", "W M W", "a b c"),
        ("b c u:W", "M W W", "b c u"),
        ("a b c", "W M W W", "a b c new"),
    ],
)
def test_of_several_with_the_same_text_each_keeps_its_id(edited: str, new: str, expected: str) -> None:
    """The model wrote W, M, W; it repeats that after the user's edits, or follows them."""
    first = {"a": TodoItem("W", id="a"), "b": TodoItem("M", id="b"), "c": TodoItem("W", id="c")}
    todos = TodoList("lean", first.values())
    listed = [
        (id_, text or first[id_].content) for id_, _colon, text in (e.partition(":") for e in edited.split())
    ]
    todos.apply_edits([TodoItem(text, id=id_) for id_, text in listed])
    todos.write(written("lean", *new.split()))
    assert " ".join(todo.id if todo.id in (*first, "u") else "new" for todo in todos.items) == expected


def test_a_list_that_shares_nothing_with_the_old_one_gets_new_ids() -> None:
    todos = TodoList()
    todos.write(written("focused", "a", "b"))
    before = set(ids(todos).values())
    todos.write(written("focused", "x", "y"))
    assert before.isdisjoint(ids(todos).values())


def test_another_plan_has_no_part_in_what_the_user_skipped_of_the_last() -> None:
    todos = TodoList()
    todos.write(written("focused", "read", "write", "test"))
    before = ids(todos)
    todos.apply_edits(todos.items[:2])
    todos.write(written("focused", "draw", "test"))
    after = ids(todos)
    assert set(after) == {"draw", "test"}
    assert set(before.values()).isdisjoint(after.values())
    todos.apply_edits([])
    todos.write(written("focused", "draw", "test"))
    assert todos.items == (), "it repeats the list of which the user skipped all"


def test_an_inserted_item_takes_no_id_from_another() -> None:
    todos = TodoList()
    todos.write(written("focused", "a", "b"))
    before = ids(todos)
    todos.write(written("focused", "a", "new", "b"))
    after = ids(todos)
    assert (after["a"], after["b"]) == (before["a"], before["b"])
    assert after["new"] not in before.values()


def test_a_stored_item_is_read_back_the_same() -> None:
    stored = TodoItem("a", Status.IN_PROGRESS, "Doing a", "1", "5b6046cc")
    assert stored.as_stored()["status"] == "in_progress"
    assert TodoItem.from_dict(stored.as_stored()) == stored
    assert stored.as_dict() == stored.as_stored()


def test_an_item_of_a_list_is_a_dictionary_as_its_policy_has_it() -> None:
    written = {
        "focused": {"content": "a", "status": "in_progress", "activeForm": "Doing a"},
        "lean": {"content": "a", "status": "completed"},
        "checklist": {"id": "7", "text": "a", "status": "done"},
    }
    for policy, given in written.items():
        todos = TodoList(policy, [given])
        assert [todo.as_dict() for todo in todos.items] == [given]
        assert [todo.as_dict() for todo in TodoList(policy, todos.items).items] == [given]
        stored = TodoItem.from_dict(todos.items[0].as_stored())
        assert [todo.as_dict() for todo in TodoList(policy, [stored]).items] == [given]


def test_an_item_is_made_with_a_status_of_its_policy_or_not_at_all() -> None:
    checklist, lean = POLICIES["checklist"], POLICIES["lean"]
    assert TodoItem("a", " Completed ").status is Status.COMPLETED
    assert TodoItem("a", "done", policy=checklist).status is Status.COMPLETED
    assert TodoItem("a", Status.COMPLETED, policy=checklist).word == "done"
    for status, policy, there_are in [
        ("done", None, "a todo item has no status 'done'; there are: pending, in_progress, completed"),
        ("completed", checklist, "'checklist' has no status 'completed'; there are: pending, in_progress"),
        (Status.IN_PROGRESS, lean, "'lean' has no status 'in_progress'; there are: pending, completed"),
        (7, lean, "'lean' has no status '7'"),
    ]:
        with pytest.raises(ValueError, match=there_are):
            TodoItem("a", status, policy=policy)
    with pytest.raises(ValueError, match="no status 'in_progress'"):
        replace(TodoItem("a", policy=lean), status=Status.IN_PROGRESS)
