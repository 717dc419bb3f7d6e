"""The planning agent in a terminal: three states, an active form, one item in progress, soft reminders."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from chat.agent import TodoList, TodoUpdate, ToolCallEnded, tool
from chat.agent.prompts import Language
from chat.agent.sandbox import Sandbox
from chat.agent.todo import Status, TodoError, todo_tool
from chat.agent.tools import workspace_tools
from chat.agent.workspace import Workspace
from chat.demo.reply import Reply, Request
from tests.agent.conftest import MakeAgent
from tests.agent.turns import HELLO, end, of, results, told
from tests.descriptions.conftest import Recorded
from tests.model_server import ScriptedModel

READ = {"content": "Read", "status": "completed", "activeForm": "Reading"}
WRITE = {"content": "Write", "status": "in_progress", "activeForm": "Writing"}
TEST = {"content": "Test", "status": "pending", "activeForm": "Testing"}


@dataclass
class Listing:
    """A list that holds READ already."""

    language: Language = "en"

    def __post_init__(self) -> None:
        self.todos = TodoList("focused", language=self.language)
        self.todos.write({"items": [READ]})

    def refusal(self, *items: Any) -> str:
        """The text of the refusal; the list from before is still there."""
        with pytest.raises(TodoError) as refused:
            self.todos.write({"items": list(items)})
        assert [todo.content for todo in self.todos.items] == ["Read"]
        return str(refused.value)


@pytest.fixture
def listing() -> Listing:
    return Listing()


@tool
async def work(at: int) -> str:
    """Work."""
    return f"worked {at}"


# The list


def test_an_item_has_a_content_a_status_and_an_active_form() -> None:
    item = todo_tool(TodoList("focused")).parameters["properties"]["items"]["items"]
    assert list(item["properties"]) == item["required"] == ["content", "status", "activeForm"]


def test_the_fields_are_stripped_and_the_status_is_lower_cased(listing: Listing) -> None:
    listing.todos.write({"items": [{"content": " a ", "status": " PENDING", "activeForm": "doing a "}]})
    assert listing.todos.items[0].as_dict() == {"content": "a", "status": "pending", "activeForm": "doing a"}


def test_there_are_three_states() -> None:
    assert TodoList("focused").policy.VALID_STATUSES == ("pending", "in_progress", "completed")


def test_an_item_without_content_is_refused(listing: Listing) -> None:
    assert listing.refusal({**TEST, "content": " "}) == "Error: Item 0: content required"


def test_an_unknown_status_is_refused(listing: Listing) -> None:
    assert listing.refusal(READ, {**TEST, "status": "x"}) == "Error: Item 1: invalid status 'x'"


def test_an_item_without_an_active_form_is_refused(listing: Listing) -> None:
    assert listing.refusal({**TEST, "activeForm": ""}) == "Error: Item 0: activeForm required"


def test_a_list_of_more_than_twenty_is_refused(listing: Listing) -> None:
    listing.todos.write({"items": [TEST] * 20})
    assert len(listing.todos.items) == 20
    assert Listing().refusal(*[TEST] * 21) == "Error: Max 20 todos allowed"


def test_only_one_item_may_be_in_progress(listing: Listing) -> None:
    assert listing.refusal(WRITE, WRITE) == "Error: Only one task can be in_progress at a time"


def test_a_list_replaces_the_one_before(listing: Listing) -> None:
    listing.todos.write({"items": [TEST]})
    assert [todo.content for todo in listing.todos.items] == ["Test"]


def test_a_refused_list_leaves_the_one_before(listing: Listing) -> None:
    assert listing.refusal(WRITE, TEST, {"content": "x"})


def test_the_list_is_rendered_with_three_marks_the_active_form_a_blank_line_and_the_count(
    listing: Listing,
) -> None:
    assert listing.todos.write({"items": [READ, WRITE, TEST]}) == (
        "[x] Read\n[>] Write <- Writing\n[ ] Test\n\n(1/3 completed)"
    )


def test_no_list_is_rendered_in_words() -> None:
    assert TodoList("focused").render() == "No todos."


async def test_errors_reach_the_model_as_the_text_of_a_result(
    make_agent: MakeAgent, model_server: ScriptedModel, recorded: Recorded
) -> None:
    model_server.script(Reply(tool_calls=[("TodoWrite", {"items": [WRITE, WRITE]})]), Reply("ok"))
    await told(make_agent())
    assert results(model_server.requests[1]) == ["Error: Only one task can be in_progress at a time"]
    recorded("The list raises errors, the tool tells them as text.")


# The same in Chinese


def test_in_chinese_the_refusals_are_those_of_the_description(recorded: Recorded) -> None:
    listing = Listing("zh")
    assert listing.refusal(*[TEST] * 21) == "错误: 最多 20 个任务"
    assert listing.refusal(WRITE, WRITE) == "错误: 只能有一个任务进行中"
    assert listing.refusal({}).startswith("错误: 任务 0: 缺少必填字段")
    assert listing.refusal({**TEST, "status": "x"}).startswith("错误: 任务 0: 无效状态")
    recorded("Chinese refusals name the field or the value after the description's words")


def test_in_chinese_the_list_is_counted_in_chinese() -> None:
    todos = TodoList("focused", language="zh")
    assert todos.render() == "没有任务"
    assert todos.write({"items": [READ, TEST]}).endswith("\n\n(1/2 已完成)")


# Reminders


def reminded_after(rounds: int) -> Any:
    def answer(request: Request) -> Reply:
        if request.number == 1:
            return Reply(tool_calls=[("TodoWrite", {"items": [WRITE]})])
        done = request.number > rounds + 1
        return Reply("done") if done else Reply(tool_calls=[("work", {"at": request.number})])

    return answer


async def test_a_conversation_begins_with_the_advice_to_plan(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(Reply("ok"))
    await told(make_agent())
    assert model_server.requests[0]["messages"][1]["content"] == (
        "<reminder>Use TodoWrite for multi-step tasks.</reminder>\nhello"
    )


async def test_after_more_than_ten_rounds_without_a_list_the_model_is_reminded(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.answer = reminded_after(11)
    await told(make_agent(tools=[work]))
    tenth, eleventh = (results(request)[-1] for request in model_server.requests[-2:])
    assert tenth == "worked 11"
    assert eleventh == ("<reminder>11+ turns without todo update. Please update todos.</reminder>\nworked 12")


async def test_a_list_starts_the_count_again(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    rounds = [Reply(tool_calls=[("work", {"at": at})]) for at in range(10)]
    write = Reply(tool_calls=[("TodoWrite", {"items": [WRITE]})])
    model_server.script(write, *rounds, write, *rounds, Reply("done"))
    await told(make_agent(tools=[work]))
    assert "<reminder>" not in "".join(results(model_server.requests[-1]))


def test_a_reminder_that_was_given_is_not_repeated_in_every_round(recorded: Recorded) -> None:
    recorded("A reminder starts the count of rounds again")


def test_a_reminder_is_no_message_of_its_own(recorded: Recorded) -> None:
    recorded("A reminder stands ahead of a tool's result and is no message.")


def test_rounds_are_counted_for_each_turn(recorded: Recorded) -> None:
    recorded("Counts belong to the turn, and lists to the conversation.")


# The loop and its tools


async def test_the_tools_are_a_shell_three_for_files_and_the_list(
    make_agent: MakeAgent, model_server: ScriptedModel, tmp_path: Path
) -> None:
    model_server.script(Reply("ok"))
    await told(make_agent(tools=workspace_tools(Workspace(tmp_path), Sandbox())))
    offered = [given["function"]["name"] for given in model_server.requests[0]["tools"]]
    assert sorted(offered) == ["TodoWrite", "bash", "edit_file", "read_file", "write_file"]


async def test_the_loop_goes_on_until_a_reply_asks_for_no_tool(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(*[Reply(tool_calls=[("work", {"at": at})]) for at in range(3)], Reply("That is all."))
    last = end(await told(make_agent(tools=[work])))
    assert (last.reason, last.text, last.steps) == ("completed", "That is all.", 4)


async def test_a_question_ends_the_turn_and_the_answer_goes_on_with_the_list(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    agent = make_agent()
    model_server.script(Reply(tool_calls=[("TodoWrite", {"items": [READ, WRITE, TEST]})]), Reply("Which?"))
    asked = await agent.complete(HELLO)
    done = [{**item, "status": "completed"} for item in (READ, WRITE, TEST)]
    model_server.script(Reply(tool_calls=[("TodoWrite", {"items": done})]), Reply("All done."))
    answered = await agent.complete([*asked.messages, *HELLO], todos=asked.todos)
    assert [todo.status for todo in answered.todos] == [Status.COMPLETED] * 3
    assert [todo.id for todo in answered.todos] == [todo.id for todo in asked.todos]


async def test_each_accepted_list_is_told(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    lists = [[WRITE, TEST], [WRITE, WRITE], [READ, TEST]]
    model_server.script(
        *[Reply(tool_calls=[("TodoWrite", {"items": items})]) for items in lists], Reply("ok")
    )
    events = await told(make_agent())
    assert [event.status for event in of(ToolCallEnded, events)] == ["succeeded", "failed", "succeeded"]
    assert [[todo.content for todo in update.items] for update in of(TodoUpdate, events)] == [
        ["Write", "Test"],
        ["Read", "Test"],
    ]


async def test_of_two_lists_in_one_reply_the_second_is_refused(
    make_agent: MakeAgent, model_server: ScriptedModel, recorded: Recorded
) -> None:
    write = ("TodoWrite", {"items": [READ]})
    model_server.script(Reply(tool_calls=[write, write]), Reply("ok"))
    await told(make_agent())
    assert results(model_server.requests[1])[1].startswith("Error: Only one TodoWrite in one reply")
    recorded("A second `TodoWrite` in one reply is refused.")
