"""An agent's name, options and errors."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

import pytest

from chat.agent import Agent, Model, Retry, Text, TodoItem, TodoUpdate, Usage, tool
from chat.agent.model import Delta, Finish, ToolCallDelta
from chat.agent.todo import Status
from chat.demo.reply import Reply
from tests.agent.conftest import MakeAgent
from tests.agent.turns import HELLO, PLAN, told
from tests.model_server import ScriptedModel


@tool
async def look() -> str:
    """Look."""
    return "seen"


class Parrot:
    """A model without an endpoint: writes a list, then repeats what it read."""

    async def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        options: Mapping[str, Any],
    ) -> AsyncIterator[Delta]:
        if messages[-1]["role"] == "user":
            yield ToolCallDelta(0, "1", "TodoWrite", '{"todos": [{"content": "Talk"}]}')
        else:
            yield Text(f"{messages[-1]['content']} {dict(options)}")
        yield Finish("stop")


async def test_temperature_and_options_pass_through(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(Reply("ok"))
    own = {"enable_thinking": False}
    await told(make_agent(temperature=0.3, top_p=0.9, extra_body=own, max_tokens=50))
    asked = model_server.requests[0]
    assert (asked["model"], asked["temperature"], asked["top_p"]) == ("scripted", 0.3, 0.9)
    assert (asked["enable_thinking"], asked["max_tokens"]) == (False, 50)


async def test_the_system_prompt_leads_every_request(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(Reply(tool_calls=[("look", {})]), Reply("ok"))
    agent = make_agent(tools=[look], name="Ada", instructions="Speak plainly.")
    await told(agent)
    for request in model_server.requests:
        system = [message for message in request["messages"] if message["role"] == "system"]
        assert system == [{"role": "system", "content": agent.system_prompt}]
        assert request["messages"][0] == system[0]


async def test_complete_gathers_the_turn(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 1}
    model_server.script(
        Reply(tool_calls=[("TodoWrite", PLAN)], usage=usage), Reply("All planned.", usage=usage)
    )
    result = await make_agent().complete(HELLO)
    assert (result.text, result.stop_reason, result.sentence) == ("All planned.", "completed", "")
    assert (result.steps, result.usage) == (2, Usage(10, 2))
    assert [(todo.content, todo.status) for todo in result.todos] == [
        ("Read", Status.IN_PROGRESS),
        ("Write", Status.PENDING),
    ]


async def test_the_todos_of_a_result_are_a_list_of_items_that_a_next_turn_takes_as_dictionaries(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    agent = make_agent(todo_policy="checklist")
    items = [{"id": "1", "text": "Read", "status": "done"}, {"id": "2", "text": "Write"}]
    model_server.script(Reply(tool_calls=[("TodoWrite", {"items": items})]), Reply("ok"), Reply("ok"))
    result = await agent.complete(HELLO)
    assert isinstance(result.todos, list)
    stored = [todo.as_dict() for todo in result.todos]
    assert stored == [items[0], items[1] | {"status": "pending"}]
    again = await agent.complete([*result.messages, *HELLO], todos=stored)
    assert [(todo.content, todo.status, todo.key) for todo in again.todos] == [
        ("Read", Status.COMPLETED, "1"),
        ("Write", Status.PENDING, "2"),
    ]


async def test_an_agent_that_keeps_its_todos_goes_on_with_them(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    agent = make_agent(todo_policy="lean", keep_todos=True)
    plan, ticked = {"todos": [{"content": "Read"}]}, {"todos": [{"content": "Read", "status": "completed"}]}
    model_server.script(Reply(tool_calls=[("TodoWrite", plan)]), Reply("Planned."))
    first = await agent.complete(HELLO)
    assert agent.todos == tuple(first.todos)
    model_server.script(Reply(tool_calls=[("TodoWrite", ticked)]), Reply("Done."))
    second = await agent.complete(HELLO)
    assert [todo.id for todo in second.todos] == [todo.id for todo in first.todos]
    assert agent.todos[0].status is Status.COMPLETED
    model_server.script(Reply("A new task."))
    assert (await agent.complete(HELLO, todos=[])).todos == []
    assert agent.todos == ()


async def test_an_agent_keeps_the_list_of_a_turn_that_was_left(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    agent = make_agent(todo_policy="lean", keep_todos=True)
    model_server.script(Reply(tool_calls=[("TodoWrite", {"todos": [{"content": "Read"}]})]))
    async with aclosing(agent.run(HELLO)) as events:
        async for event in events:
            if isinstance(event, TodoUpdate):
                break
    assert [todo.content for todo in agent.todos] == ["Read"]


async def test_by_default_the_caller_keeps_the_list(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    agent = make_agent(todo_policy="lean")
    model_server.script(
        Reply(tool_calls=[("TodoWrite", {"todos": [{"content": "Read"}]})]), Reply("ok"), Reply("ok")
    )
    assert [todo.content for todo in (await agent.complete(HELLO)).todos] == ["Read"]
    assert agent.todos == ()
    assert (await agent.complete(HELLO)).todos == []


async def test_complete_tells_a_failure_and_takes_what_run_takes(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    todos = (TodoItem("Read", id="a1"),)
    model_server.script(Reply(status=401))
    result = await make_agent().complete(HELLO, todos=todos)
    assert (result.stop_reason, result.todos, result.text) == ("failed", list(todos), "")
    assert "refused the API key" in result.sentence


async def test_any_object_with_the_protocol_is_a_model() -> None:
    parrot: Model = Parrot()
    async with Agent(model=parrot, todo_policy="lean", temperature=0) as agent:
        result = await agent.complete(HELLO)
    assert result.text == "[ ] Talk\n\n(0/1 completed) {'temperature': 0}"


async def test_the_endpoint_may_come_from_the_environment(
    model_server: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", model_server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    model_server.script(Reply("ok"))
    async with Agent(model="any") as agent:
        assert (await agent.complete(HELLO)).text == "ok"


async def test_two_turns_of_one_agent_do_not_mix(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    agent = Agent(model=Parrot(), todo_policy="lean", retry=Retry(attempts=1))
    one, two = await asyncio.gather(agent.complete(HELLO), agent.complete(HELLO))
    assert one.todos[0].id != two.todos[0].id


async def test_the_model_may_stand_first_and_has_a_default(
    model_server: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", model_server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.delenv("OPENAI_MODEL", raising=False)
    agents = [Agent("first"), Agent(), Agent(model=None)]
    monkeypatch.setenv("OPENAI_MODEL", "from-environment")
    agents += [Agent(), Agent("first")]
    for agent in agents:
        model_server.script(Reply("ok"))
        async with agent:
            assert (await agent.complete(HELLO)).text == "ok"
    asked = [request["model"] for request in model_server.requests]
    assert asked == ["first", "gpt-4o-mini", "gpt-4o-mini", "from-environment", "first"]


async def test_system_prompt_and_llm_are_other_names_for_instructions_and_model(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(Reply("ok"))
    await told(make_agent(system_prompt="Speak plainly."))
    assert "Speak plainly." in model_server.requests[0]["messages"][0]["content"]
    assert "system_prompt" not in model_server.requests[0]
    parrot = Parrot()
    assert Agent(llm=parrot).model is parrot
    for given, names in [
        ({"model": parrot, "llm": parrot}, "'llm' is another name for 'model'"),
        (
            {"model": parrot, "instructions": "a", "system_prompt": "b"},
            "'system_prompt' is another name for 'instructions'",
        ),
    ]:
        with pytest.raises(TypeError, match=names):
            Agent(**given)


def test_an_object_that_is_no_model_is_refused_at_construction() -> None:
    for wrong in (7, object(), {"name": "gpt"}, Parrot, Parrot().stream, []):
        for name in ("model", "llm"):
            with pytest.raises(TypeError, match=r"A model is a name, or an object with a method stream\("):
                Agent(**{name: wrong})


def test_tools_may_be_none_or_async_functions_and_nothing_else() -> None:
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    assert Agent(Parrot(), tools=None).tools == ()
    assert [(each.name, each.description) for each in Agent(Parrot(), tools=[add]).tools] == [
        ("add", "Add two numbers.")
    ]
    with pytest.raises(TypeError, match="a Tool, an async function or a dictionary, and 'add' is none"):
        Agent(Parrot(), tools=["add"])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [
        ("temprature", "temperature"),
        ("max_token", "max_tokens"),
        ("toolz", "tools"),
        ("sytem_prompt", "system_prompt"),
        ("todo_polcy", "todo_policy"),
        ("top_k", "top_p"),
    ],
)
def test_an_unknown_option_is_refused_with_the_nearest_known_one(wrong: str, nearest: str) -> None:
    with pytest.raises(TypeError, match=f"no option '{wrong}'; the nearest is '{nearest}'"):
        Agent(Parrot(), **{wrong: 1})


def test_every_parameter_of_chat_completions_is_an_option_but_what_the_loop_decides() -> None:
    from openai.resources.chat.completions import AsyncCompletions

    decided = {"self", "messages", "model", "tools", "stream"}
    for name in inspect.signature(AsyncCompletions.create).parameters.keys() - decided:
        assert Agent(Parrot(), **{name: 1}).options == {name: 1}
    for name in ("messages", "stream"):
        with pytest.raises(TypeError, match=f"no option '{name}'"):
            Agent(Parrot(), **{name: 1})


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"todo_policy": "strict"}, "unknown todo policy 'strict'"),
        ({"tools": [look, look]}, "two tools are called 'look'"),
        (
            {"tools": [{"type": "function", "function": {"name": "TodoWrite"}}]},
            "two tools are called 'TodoWrite'",
        ),
        ({"tools": [{"type": "function", "function": {"name": "read file"}}]}, "so not 'read file'"),
        ({"tools": [{"type": "function", "function": {"name": "x" * 65}}]}, "1 to 64 letters"),
    ],
)
def test_what_no_endpoint_would_take_is_refused_at_once(given: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        Agent(model=Parrot(), **given)
