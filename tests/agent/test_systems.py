"""The four systems that the agent stands for, each whole: (a) focused, (b) lean, (c) checklist, (d) library.

The terminal loop of (a) and the panel's life of (c) have their tests with the terminal and the page.
"""

from __future__ import annotations

from typing import Any

import pytest

from chat.agent import (
    Agent,
    Limits,
    Retry,
    Retrying,
    TodoDraft,
    TodoItem,
    TodoUpdate,
    ToolCallEnded,
    build_system_prompt,
    tool,
)
from chat.agent.todo import Status
from chat.demo.reply import Reply, Request
from tests.agent.conftest import MakeAgent
from tests.agent.turns import HELLO, end, of, results, told
from tests.model_server import ScriptedModel

FILES = ["a.py", "b.py", "c.py", "d.py", "e.py"]


@tool
async def edit(path: str) -> str:
    """Edit a file."""
    return f"edited {path}"


def focused(*statuses: str) -> dict[str, Any]:
    """A list of five files under `focused`, each in the state given."""
    return {
        "items": [
            {"content": f"Refactor {path}", "status": status, "activeForm": f"Refactoring {path}"}
            for path, status in zip(FILES, statuses, strict=True)
        ]
    }


async def test_a_focused_plans_in_three_states_stops_at_a_question_and_goes_on(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    agent = make_agent(tools=[edit])
    model_server.script(
        Reply(
            tool_calls=[("TodoWrite", focused("in_progress", *["pending"] * 4)), ("edit", {"path": "a.py"})]
        ),
        Reply(tool_calls=[("edit", {"path": "b.py"})]),
        Reply(
            tool_calls=[("TodoWrite", focused("completed", "completed", "in_progress", "pending", "pending"))]
        ),
        Reply("c.py exists twice. Which one shall I keep?"),
    )
    conversation = [{"role": "user", "content": "Refactor these five files."}]
    asked = end(await told(agent, conversation))
    assert asked.reason == "completed"
    assert asked.text.endswith("?")
    assert [todo.status for todo in asked.todos].count(Status.COMPLETED) == 2
    assert results(model_server.requests[3])[-1] == (
        "[x] Refactor a.py\n[x] Refactor b.py\n[>] Refactor c.py <- Refactoring c.py\n"
        "[ ] Refactor d.py\n[ ] Refactor e.py\n\n(2/5 completed)"
    )
    assert model_server.requests[0]["messages"][1]["content"] == (
        "<reminder>Use TodoWrite for multi-step tasks.</reminder>\nRefactor these five files."
    )

    model_server.script(Reply(tool_calls=[("TodoWrite", focused(*["completed"] * 5))]), Reply("All done."))
    conversation += [
        {"role": "assistant", "content": asked.text},
        {"role": "user", "content": "Keep the new version."},
    ]
    done = end(await told(agent, conversation, todos=asked.todos))
    assert [todo.status for todo in done.todos] == [Status.COMPLETED] * 5
    assert [todo.id for todo in done.todos] == [todo.id for todo in asked.todos]
    assert results(model_server.requests[-1])[-1].endswith("(5/5 completed)")


async def test_a_focused_holds_twenty_items_one_in_progress_and_reminds_after_more_than_ten_rounds(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    def items(count: int, in_progress: int) -> dict[str, Any]:
        states = ["in_progress"] * in_progress + ["pending"] * (count - in_progress)
        return {
            "items": [
                {"content": f"Step {n}", "status": state, "activeForm": f"Taking step {n}"}
                for n, state in enumerate(states)
            ]
        }

    def answer(request: Request) -> Reply:
        lists = {1: items(20, 1), 2: items(21, 1), 3: items(3, 2)}
        if request.number in lists:
            return Reply(tool_calls=[("TodoWrite", lists[request.number])])
        if request.number < 15:
            return Reply(tool_calls=[("edit", {"path": f"{request.number}.py"})])
        return Reply("Enough.")

    model_server.answer = answer
    last = end(await told(make_agent(tools=[edit])))
    texts = results(model_server.requests[-1])
    assert texts[0].endswith("\n\n(0/20 completed)")
    assert texts[1:3] == [
        "Error: Max 20 todos allowed",
        "Error: Only one task can be in_progress at a time",
    ]
    assert len(last.todos) == 20
    # Rounds 4 to 14 are eleven without a list; the next request is the fifteenth.
    assert "<reminder>" not in "".join(results(model_server.requests[13]))
    assert texts[-1] == (
        "<reminder>11+ turns without todo update. Please update todos.</reminder>\nedited 14.py"
    )


async def test_b_lean_has_two_states_and_refuses_a_third_with_the_list_untouched(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    plan = {"todos": [{"content": "Read"}, {"content": "Write", "activeForm": "Writing"}]}
    started = {"todos": [{"content": "Read", "status": "in_progress"}]}
    ticked = {"todos": [{"content": "Read", "status": "completed"}, {"content": "Write"}]}
    model_server.script(
        Reply(tool_calls=[("TodoWrite", plan)]),
        Reply(tool_calls=[("TodoWrite", started)]),
        Reply(tool_calls=[("TodoWrite", ticked)]),
        Reply("One is left."),
    )
    events = await told(make_agent(todo_policy="lean"))
    assert results(model_server.requests[-1]) == [
        "[ ] Read\n[ ] Write\n\n(0/2 completed)",
        "❌ Todo update failed: invalid status 'in_progress', only: pending, completed",
        "[x] Read\n[ ] Write\n\n(1/2 completed)",
    ]
    assert [event.status for event in of(ToolCallEnded, events)] == ["succeeded", "failed", "succeeded"]
    first, second = of(TodoUpdate, events)
    assert [todo.id for todo in first.items] == [todo.id for todo in second.items]
    states = model_server.requests[0]["tools"][0]["function"]["parameters"]["properties"]["todos"]
    assert states["items"]["properties"]["status"]["enum"] == ["pending", "completed"]


async def test_b_lean_in_chinese_refuses_in_chinese(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(
        Reply(tool_calls=[("TodoWrite", {"todos": [{"content": "读", "status": "in_progress"}]})]),
        Reply(tool_calls=[("TodoWrite", {"todos": []})]),
        Reply("好"),
    )
    await told(make_agent(todo_policy="lean", language="zh"))
    assert results(model_server.requests[-1]) == [
        "❌ 任务更新失败: 无效的任务状态: 'in_progress'，仅支持: pending, completed",
        "没有任务",
    ]


async def test_c_checklist_has_ids_texts_and_done_and_reminds_after_three_rounds(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    plan = {
        "items": [
            {"id": "1", "text": "Read", "status": "done"},
            {"id": "2", "text": "Write", "status": "in_progress"},
            {"id": "3", "text": "Check"},
        ]
    }
    model_server.script(
        Reply(tool_calls=[("TodoWrite", plan)]),
        *(Reply(tool_calls=[("edit", {"path": path})]) for path in FILES[:3]),
        Reply("Two are left."),
    )
    last = end(await told(make_agent(tools=[edit], todo_policy="checklist")))
    assert [(todo.key, todo.content, todo.status) for todo in last.todos] == [
        ("1", "Read", Status.COMPLETED),
        ("2", "Write", Status.IN_PROGRESS),
        ("3", "Check", Status.PENDING),
    ]
    assert results(model_server.requests[-1]) == [
        "[x] Read\n[>] Write\n[ ] Check",
        "edited a.py",
        "edited b.py",
        "<reminder>Update your todos.</reminder>\nedited c.py",
    ]


async def test_d_the_library_is_a_named_agent_with_a_wrapped_prompt_its_list_tool_and_custom_tools(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    async def shout(text: str) -> str:
        return text.upper()

    parameters = {"type": "object", "properties": {"text": {"type": "string"}}}
    plain = {
        "type": "function",
        "function": {"name": "shout", "description": "Shout.", "parameters": parameters},
        "run": shout,
    }
    agent: Agent = make_agent(
        name="Ada", instructions="Speak plainly.", tools=[edit, plain], temperature=0.1, todo_policy="lean"
    )
    model_server.script(
        Reply(tool_calls=[("TodoWrite", {"todos": [{"content": "Shout"}]}), ("shout", {"text": "hey"})]),
        Reply("Done."),
    )
    events = await told(agent)
    request = model_server.requests[0]
    assert [given["function"]["name"] for given in request["tools"]] == ["TodoWrite", "edit", "shout"]
    assert request["temperature"] == 0.1
    assert request["messages"][0]["content"] == build_system_prompt(
        "Ada", "Speak plainly.", todo_policy="lean"
    )
    assert results(model_server.requests[1])[1] == "HEY"
    assert [[todo.content for todo in update.items] for update in of(TodoUpdate, events)] == [["Shout"]]
    assert of(TodoDraft, events)


async def test_d_the_library_gives_todos_on_the_result_and_keeps_limits_and_retry(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    plan = {"todos": [{"content": "Ask"}]}
    agent = make_agent(
        todo_policy="lean", limits=Limits(steps=1), retry=Retry(attempts=2, first_delay=0), tools=[edit]
    )
    model_server.script(Reply(status=503), Reply(tool_calls=[("TodoWrite", plan)]))
    result = await agent.complete(HELLO)
    assert [(type(todo), todo.content) for todo in result.todos] == [(TodoItem, "Ask")]
    assert (result.stop_reason, result.steps) == ("limit", 1)
    assert result.sentence == "Stopped: the turn reached its limit of 1 steps."

    model_server.script(Reply(status=503), Reply(status=503), Reply("too late"))
    events = await told(agent)
    assert len(of(Retrying, events)) == 1
    assert end(events).reason == "failed"


@pytest.mark.parametrize(("language", "name"), [("en", "Assistant"), ("zh", "智能助理")])
def test_d_the_library_names_an_agent_that_has_no_name(
    make_agent: MakeAgent, language: str, name: str
) -> None:
    assert make_agent(language=language).name == name
