"""The list of two states, which spends no call on marking a start."""

from __future__ import annotations

import pytest

from chat.agent import TodoItem, TodoList, TodoUpdate
from chat.agent.prompts import Language
from chat.agent.todo import POLICIES, Status, TodoError, todo_tool
from chat.demo.reply import Reply
from tests.agent.conftest import MakeAgent
from tests.agent.turns import of, results, told
from tests.descriptions.conftest import Recorded
from tests.model_server import ScriptedModel

STARTED = {"content": "Read", "status": "in_progress"}


def refusal(*items: object, language: Language = "en") -> str:
    with pytest.raises(TodoError) as refused:
        TodoList("lean", language=language).write({"todos": list(items)})
    return str(refused.value)


def test_the_argument_is_todos_and_an_item_has_content_and_status() -> None:
    schema = todo_tool(TodoList("lean")).parameters
    assert list(schema["properties"]) == schema["required"] == ["todos"]
    assert list(schema["properties"]["todos"]["items"]["properties"]) == ["content", "status"]


def test_the_list_is_described_as_complete_and_replacing() -> None:
    listed = todo_tool(TodoList("lean")).parameters["properties"]["todos"]
    assert listed["description"] == "Complete list of tasks; replaces the existing one"


def test_there_are_two_states() -> None:
    assert POLICIES["lean"].VALID_STATUSES == ("pending", "completed")


def test_an_item_without_a_status_is_pending() -> None:
    assert TodoList("lean", [{"content": "Read"}]).items[0].status is Status.PENDING


def test_in_progress_is_refused_with_the_states_that_there_are() -> None:
    assert refusal(STARTED) == "❌ Todo update failed: invalid status 'in_progress', only: pending, completed"


def test_so_it_is_in_chinese() -> None:
    assert refusal(STARTED, language="zh") == (
        "❌ 任务更新失败: 无效的任务状态: 'in_progress'，仅支持: pending, completed"
    )


def test_an_item_with_another_state_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="no status 'in_progress'"):
        TodoItem("Read", Status.IN_PROGRESS, policy=POLICIES["lean"])


def test_an_active_form_that_a_model_sends_is_ignored() -> None:
    todos = TodoList("lean", [{"content": "Read", "activeForm": "Reading"}])
    assert todos.items[0].as_dict() == {"content": "Read", "status": "pending"}


def test_the_list_may_be_written_bare() -> None:
    assert TodoList("lean").write([{"content": "Read"}]) == "[ ] Read\n\n(0/1 completed)"


def test_it_is_rendered_with_two_marks_a_blank_line_and_the_count() -> None:
    ticked = {"content": "Read", "status": "completed"}
    assert TodoList("lean").write([ticked, {"content": "Write"}]) == (
        "[x] Read\n[ ] Write\n\n(1/2 completed)"
    )


def test_in_chinese_it_is_counted_in_chinese_and_an_empty_one_named() -> None:
    todos = TodoList("lean", language="zh")
    assert todos.write([{"content": "读", "status": "completed"}]).endswith("(1/1 已完成)")
    assert todos.write([]) == "没有任务"


def test_twenty_items_are_the_most(recorded: Recorded) -> None:
    items = [{"content": str(number)} for number in range(21)]
    assert refusal(*items) == "❌ Todo update failed: Max 20 todos allowed"
    recorded("Twenty items and the tenth round")


def test_the_reminder_comes_from_the_tenth_round(recorded: Recorded) -> None:
    assert POLICIES["lean"].remind_after == 10
    recorded("Twenty items and the tenth round")


async def test_a_refused_list_leaves_the_one_before_and_the_model_may_correct_it(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    plan, ticked = {"content": "Read"}, {"content": "Read", "status": "completed"}
    lists = [[plan], [STARTED], [ticked]]
    model_server.script(
        *[Reply(tool_calls=[("TodoWrite", {"todos": items})]) for items in lists], Reply("ok")
    )
    first, second = of(TodoUpdate, await told(make_agent(todo_policy="lean")))
    assert results(model_server.requests[2])[-1].startswith("❌ Todo update failed")
    assert [todo.id for todo in first.items] == [todo.id for todo in second.items]
    assert second.items[0].status is Status.COMPLETED


def test_the_model_is_told_not_to_mark_a_start() -> None:
    assert "`in_progress` is refused" in todo_tool(TodoList("lean")).description


def test_the_description_is_long_and_has_examples(recorded: Recorded) -> None:
    assert todo_tool(TodoList("lean")).description.count("<example>") == 8
    recorded("The tool's description is long, with examples.")
