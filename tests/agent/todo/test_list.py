"""Every row of the policy table: fields, defaults, states, names, limits, refusals, rendering."""

from __future__ import annotations

from typing import Any

import pytest

from chat.agent.prompts import Language
from chat.agent.todo import POLICIES, Status, TodoError, TodoItem, TodoList
from tests.agent.todo.lists import contents, item, written

POLICY_NAMES = sorted(POLICIES)


def refused(todos: TodoList, arguments: Any) -> str:
    """The refusal's text; checks that the list is unchanged."""
    before = todos.items
    with pytest.raises(TodoError) as caught:
        todos.write(arguments)
    assert todos.items is before
    return str(caught.value)


def holding_one(policy: str, language: Language = "en") -> TodoList:
    todos = TodoList(policy, language=language)
    todos.write(written(policy, "keep me"))
    return todos


@pytest.mark.parametrize(
    ("policy", "required", "states", "argument", "remind_after"),
    [
        (
            "focused",
            ["content", "status", "activeForm"],
            ["pending", "in_progress", "completed"],
            "items",
            11,
        ),
        ("lean", ["content"], ["pending", "completed"], "todos", 10),
        ("checklist", ["id", "text"], ["pending", "in_progress", "done"], "items", 3),
    ],
)
def test_a_policy_has_the_fields_states_argument_and_threshold_of_the_table(
    policy: str, required: list[str], states: list[str], argument: str, remind_after: int
) -> None:
    rules = POLICIES[policy]
    assert (rules.required, list(rules.states), rules.argument) == (required, states, argument)
    assert (rules.remind_after, rules.max_items) == (remind_after, 20)


def test_focused_is_what_one_gets_without_choosing() -> None:
    assert TodoList().policy is POLICIES["focused"]


@pytest.mark.parametrize("policy", POLICY_NAMES)
@pytest.mark.parametrize("name", ["items", "todos"])
def test_either_name_of_the_argument_is_taken(policy: str, name: str) -> None:
    todos = TodoList(policy)
    todos.write({name: [item(policy, "one")]})
    assert contents(todos) == ["one"]


@pytest.mark.parametrize(("policy", "own"), [("focused", "items"), ("lean", "todos"), ("checklist", "items")])
def test_the_policys_own_name_wins_and_a_null_is_no_list(policy: str, own: str) -> None:
    other = "todos" if own == "items" else "items"
    todos = TodoList(policy)
    todos.write({other: [], own: [item(policy, "one")]})
    assert contents(todos) == ["one"]
    todos.write({own: None, other: [item(policy, "two")]})
    assert contents(todos) == ["two"]


def test_a_bare_list_is_taken_by_the_same_rules() -> None:
    todos = TodoList("lean")
    assert todos.write([{"content": "one", "status": "completed"}]) == "[x] one\n\n(1/1 completed)"
    assert refused(todos, [{"content": "one", "status": "done"}]).endswith("only: pending, completed")
    assert todos.write([]) == "No todos."


def test_a_list_begins_with_items_or_with_dictionaries_of_its_policy() -> None:
    begun = TodoList("checklist", [{"id": "1", "text": "one", "status": "done"}])
    again = TodoList("checklist", begun.items)
    assert again.items == begun.items
    assert again.statuses == ["done"]
    with pytest.raises(TodoError, match="Item 0: text required"):
        TodoList("checklist", [{"id": "1"}])


def test_items_of_another_policy_keep_a_state_that_this_one_does_not_have() -> None:
    busy = TodoList("focused", [{"content": "one", "status": "in_progress", "activeForm": "Doing one"}])
    lean = TodoList("lean", busy.items)
    assert lean.items == busy.items
    assert lean.render() == "[>] one <- Doing one\n\n(0/1 completed)"
    lean.apply_edits([TodoItem("two", Status.IN_PROGRESS)])
    assert lean.statuses == ["in_progress"]


@pytest.mark.parametrize("status", [None, "", "  "])
def test_lean_takes_an_item_without_status_as_pending(status: str | None) -> None:
    todos = TodoList("lean")
    todos.write({"todos": [{"content": "a"}, {"content": "b", "status": status}]})
    assert [todo.status for todo in todos.items] == [Status.PENDING, Status.PENDING]


def test_checklist_takes_an_item_without_status_as_pending_and_done_as_completed() -> None:
    todos = TodoList("checklist")
    todos.write({"items": [{"id": "1", "text": "a"}, {"id": 2, "text": "b", "status": "DONE"}]})
    assert [(todo.key, todo.content, todo.status) for todo in todos.items] == [
        ("1", "a", Status.PENDING),
        ("2", "b", Status.COMPLETED),
    ]


@pytest.mark.parametrize("policy", POLICY_NAMES)
def test_unknown_keys_are_ignored(policy: str) -> None:
    todos = TodoList(policy)
    todos.write({"note": 1, "items": [{**item(policy, "a"), "priority": "high", "x": [1]}]})
    assert contents(todos) == ["a"]


def test_lean_ignores_active_form_whatever_it_is() -> None:
    todos = TodoList("lean")
    todos.write({"todos": [{"content": "a", "activeForm": 7}, {"content": "b", "activeForm": "Doing b"}]})
    assert [todo.active_form for todo in todos.items] == ["", ""]


@pytest.mark.parametrize("policy", POLICY_NAMES)
def test_twenty_items_are_taken_and_twenty_one_refused(policy: str) -> None:
    todos = holding_one(policy)
    assert "Max 20 todos allowed" in refused(todos, written(policy, *(f"step {n}" for n in range(21))))
    todos.write(written(policy, *(f"step {n}" for n in range(20))))
    assert len(todos.items) == 20


REFUSALS = [
    (
        "focused",
        [{"content": " ", "status": "pending", "activeForm": "x"}],
        "Error: Item 0: content required",
    ),
    ("focused", [{"status": "pending", "activeForm": "x"}], "Error: Item 0: content required"),
    ("focused", [{"content": "a", "activeForm": "x"}], "Error: Item 0: status required"),
    ("focused", [{"content": "a", "status": "x", "activeForm": "x"}], "Error: Item 0: invalid status 'x'"),
    ("focused", [{"content": "a", "status": "X"}], "Error: Item 0: invalid status 'x'"),
    (
        "focused",
        [{"content": "a", "status": "done", "activeForm": "x"}],
        "Error: Item 0: invalid status 'done'",
    ),
    ("focused", [{"content": "a", "status": "pending"}], "Error: Item 0: activeForm required"),
    (
        "focused",
        [{"content": "a", "status": "pending", "activeForm": "x"}, {"content": "b", "status": "pending"}],
        "Error: Item 1: activeForm required",
    ),
    (
        "focused",
        [{"content": [7], "status": "pending", "activeForm": "x"}],
        "Error: Item 0: content must be text",
    ),
    ("focused", ["a"], "Error: Item 0: must be an object"),
    ("focused", [item("focused", f"{n}") for n in range(21)], "Error: Max 20 todos allowed"),
    (
        "focused",
        [item("focused", "a", "in_progress"), item("focused", "b", "in_progress")],
        "Error: Only one task can be in_progress at a time",
    ),
    (
        "lean",
        [{"content": "a", "status": "in_progress"}],
        "❌ Todo update failed: invalid status 'in_progress', only: pending, completed",
    ),
    (
        "lean",
        [{"content": "a", "status": "done"}],
        "❌ Todo update failed: invalid status 'done', only: pending, completed",
    ),
    ("lean", [{"content": ""}], "❌ Todo update failed: Item 0: content required"),
    ("lean", [{"content": "a", "status": [1]}], "❌ Todo update failed: Item 0: status must be text"),
    ("lean", [item("lean", f"{n}") for n in range(21)], "❌ Todo update failed: Max 20 todos allowed"),
    ("checklist", [{"text": "a"}], "Error: Item 0: id required"),
    ("checklist", [{"id": "1", "text": ""}], "Error: Item 0: text required"),
    ("checklist", [{"id": "1", "content": "a"}], "Error: Item 0: text required"),
    ("checklist", [{"id": True, "text": "a"}], "Error: Item 0: id must be text"),
    (
        "checklist",
        [{"id": "1", "text": "a", "status": "completed"}],
        "Error: Item 0: invalid status 'completed'",
    ),
    (
        "checklist",
        [{"id": "1", "text": "a"}, {"id": "1", "text": "b"}],
        "Error: Item 1: id '1' is used twice",
    ),
    (
        "checklist",
        [item("checklist", "a", "in_progress"), item("checklist", "b", "in_progress")],
        "Error: Only one task can be in_progress at a time",
    ),
    ("checklist", [item("checklist", f"{n}") for n in range(21)], "Error: Max 20 todos allowed"),
]


@pytest.mark.parametrize(("policy", "items", "text"), REFUSALS)
def test_a_list_that_breaks_a_rule_is_refused_whole_with_an_error_to_act_on(
    policy: str, items: list[Any], text: str
) -> None:
    assert refused(holding_one(policy), {"items": items}) == text


@pytest.mark.parametrize(
    ("policy", "argument"), [("focused", "items"), ("lean", "todos"), ("checklist", "items")]
)
@pytest.mark.parametrize("arguments", [{}, 7, "text", None, {"items": "[]"}, {"todos": {"content": "a"}}])
def test_arguments_of_the_wrong_type_are_refused(policy: str, argument: str, arguments: Any) -> None:
    assert f"{argument} must be a list of items" in refused(holding_one(policy), arguments)


CHINESE = [
    ("focused", [{}], "错误: 任务 0: 缺少必填字段 content"),
    ("focused", [item("focused", "a"), {"content": "a", "status": "x"}], "错误: 任务 1: 无效状态 'x'"),
    ("focused", [{"content": "a", "status": "pending"}], "错误: 任务 0: 缺少必填字段 activeForm"),
    ("focused", [item("focused", f"{n}") for n in range(21)], "错误: 最多 20 个任务"),
    (
        "focused",
        [item("focused", "a", "in_progress"), item("focused", "b", "in_progress")],
        "错误: 只能有一个任务进行中",
    ),
    ("focused", [7], "错误: 任务 0: 必须是一个对象"),
    ("focused", [{"content": [7]}], "错误: 任务 0: content 必须是文本"),
    (
        "lean",
        [{"content": "a", "status": "in_progress"}],
        "❌ 任务更新失败: 无效的任务状态: 'in_progress'，仅支持: pending, completed",
    ),
    ("lean", [item("lean", f"{n}") for n in range(21)], "❌ 任务更新失败: 最多 20 个任务"),
    ("checklist", [{"text": "a"}], "错误: 任务 0: 缺少必填字段 id"),
    ("checklist", [{"id": "1", "text": "a", "status": "x"}], "错误: 任务 0: 无效状态 'x'"),
    ("checklist", [{"id": "1", "text": "a"}, {"id": "1", "text": "b"}], "错误: 任务 1: id '1' 重复"),
]


@pytest.mark.parametrize(("policy", "items", "text"), CHINESE)
def test_refusals_are_in_chinese_for_a_chinese_profile(policy: str, items: list[Any], text: str) -> None:
    assert refused(holding_one(policy, "zh"), {"items": items}) == text


@pytest.mark.parametrize("policy", POLICY_NAMES)
@pytest.mark.parametrize(("language", "empty"), [("en", "No todos."), ("zh", "没有任务")])
def test_an_empty_list_clears_and_a_checklist_renders_it_as_nothing(
    policy: str, language: Language, empty: str
) -> None:
    todos = holding_one(policy, language)
    assert todos.write({"items": []}) == ("" if policy == "checklist" else empty)
    assert todos.items == ()
    assert not todos.complete


def test_a_user_who_empties_a_checklist_is_told_of_in_words() -> None:
    note = holding_one("checklist").apply_edits([])
    assert note.endswith("Now it is:\nNo todos.")


def test_numbers_are_taken_as_their_text() -> None:
    todos = TodoList("focused")
    todos.write({"items": [{"content": 7, "status": "pending", "activeForm": 2.5}]})
    assert (todos.items[0].content, todos.items[0].active_form) == ("7", "2.5")
    assert todos.draft({"items": [{"content": 2.5, "status": 1}]})[0].content == "2.5"
    checklist = TodoList("checklist")
    checklist.write({"items": [{"id": 1.5, "text": 0}]})
    assert (checklist.items[0].key, checklist.items[0].content) == ("1.5", "0")
    assert "invalid status '1'" in refused(todos, {"items": [{"content": "a", "status": 1}]})
    for no_text in (True, [1], {"a": 1}, 10**5000):
        assert "content must be text" in refused(todos, {"items": [{"content": no_text}]})


def test_a_list_is_complete_when_every_item_is_done() -> None:
    todos = TodoList("checklist")
    todos.write({"items": [item("checklist", "a", "done"), item("checklist", "b")]})
    assert (todos.done, todos.complete) == (1, False)
    todos.write({"items": [item("checklist", "a", "done"), item("checklist", "b", "done")]})
    assert (todos.done, todos.complete) == (2, True)
