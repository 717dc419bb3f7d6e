"""The list with ids that the model chooses, `done` for what is done, and a reminder after three rounds."""

from __future__ import annotations

import pytest

from chat.agent import TodoList, ToolCallEnded, tool
from chat.agent.todo import POLICIES, Status, TodoError, todo_tool
from chat.demo.reply import Reply
from tests.agent.conftest import MakeAgent
from tests.agent.turns import of, results, told
from tests.descriptions.conftest import Recorded
from tests.model_server import ScriptedModel

READ = {"id": "1", "text": "Read", "status": "done"}
WRITE = {"id": "2", "text": "Write", "status": "in_progress"}
CHECK = {"id": "3", "text": "Check"}


@tool
async def work(at: int) -> str:
    """Work."""
    return f"worked {at}"


def refusal(*items: object) -> str:
    with pytest.raises(TodoError) as refused:
        TodoList("checklist").write({"items": list(items)})
    return str(refused.value)


def test_the_argument_is_items_and_an_item_has_an_id_a_text_and_a_status() -> None:
    schema = todo_tool(TodoList("checklist")).parameters
    assert schema["required"] == ["items"]
    assert list(schema["properties"]["items"]["items"]["properties"]) == ["id", "text", "status"]


def test_the_states_are_pending_in_progress_and_done() -> None:
    assert POLICIES["checklist"].VALID_STATUSES == ("pending", "in_progress", "done")


def test_an_item_without_a_status_is_pending() -> None:
    assert TodoList("checklist", [CHECK]).items[0].status is Status.PENDING


def test_done_is_kept_as_completed_and_told_as_done() -> None:
    todos = TodoList("checklist", [READ])
    assert todos.items[0].status is Status.COMPLETED
    assert todos.statuses == ["done"]
    assert todos.items[0].as_dict() == READ


def test_an_id_and_a_text_are_needed() -> None:
    assert refusal({"text": "Read"}) == "Error: Item 0: id required"
    assert refusal({"id": "1"}) == "Error: Item 0: text required"


def test_an_id_may_be_a_number() -> None:
    assert TodoList("checklist", [{"id": 7, "text": "Read"}]).items[0].key == "7"


def test_an_unknown_status_is_refused() -> None:
    assert refusal({**CHECK, "status": "completed"}) == "Error: Item 0: invalid status 'completed'"


def test_an_id_that_is_used_twice_is_refused() -> None:
    assert refusal(CHECK, CHECK) == "Error: Item 1: id '3' is used twice"


def test_only_one_item_may_be_in_progress() -> None:
    assert refusal(WRITE, {**WRITE, "id": "9"}) == "Error: Only one task can be in_progress at a time"


def test_twenty_items_are_the_most(recorded: Recorded) -> None:
    items = [{"id": str(number), "text": "Read"} for number in range(21)]
    assert refusal(*items) == "Error: Max 20 todos allowed"
    recorded("Twenty items and the tenth round")


def test_it_is_rendered_with_three_marks_and_no_count() -> None:
    assert TodoList("checklist").write([READ, WRITE, CHECK]) == "[x] Read\n[>] Write\n[ ] Check"


async def test_an_empty_one_is_rendered_as_nothing(
    make_agent: MakeAgent, model_server: ScriptedModel, recorded: Recorded
) -> None:
    model_server.script(Reply(tool_calls=[("TodoWrite", {"items": []})]), Reply("ok"))
    (ended,) = of(ToolCallEnded, await told(make_agent(todo_policy="checklist")))
    assert (ended.status, ended.result.text) == ("succeeded", "")
    assert results(model_server.requests[1]) == ["(empty)"]
    recorded("An empty `checklist` is rendered as nothing, and sent as `(empty)`.")


async def test_after_three_rounds_without_a_list_the_model_is_reminded(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    rounds = [Reply(tool_calls=[("work", {"at": at})]) for at in (1, 2, 3)]
    model_server.script(Reply(tool_calls=[("TodoWrite", {"items": [WRITE]})]), *rounds, Reply("ok"))
    await told(make_agent(tools=[work], todo_policy="checklist"))
    assert results(model_server.requests[-1])[1:] == [
        "worked 1",
        "worked 2",
        "<reminder>Update your todos.</reminder>\nworked 3",
    ]


def test_the_reminder_is_no_message_of_its_own(recorded: Recorded) -> None:
    recorded("A reminder stands ahead of a tool's result and is no message.")
