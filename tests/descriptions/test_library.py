"""The library: a named agent with its list, tools of one's own, events, limits and retries."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from chat.agent import (
    Agent,
    Event,
    EventType,
    Limits,
    LoopLimits,
    Retry,
    RetryConfig,
    Retrying,
    TodoDraft,
    TodoItem,
    TodoStore,
    TodoUpdate,
    ToolCall,
    build_system_prompt,
    create_todo_tool,
    tool,
)
from chat.demo.reply import Reply
from tests.agent.conftest import MakeAgent
from tests.agent.test_agent import Parrot
from tests.agent.turns import HELLO, end, of, results, told
from tests.descriptions.conftest import Recorded
from tests.model_server import ScriptedModel

ASK = {"todos": [{"content": "Ask"}]}


@tool
async def edit(path: str) -> str:
    """Edit a file."""
    return f"edited {path}"


async def shout(text: str) -> str:
    return text.upper()


SHOUT: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "shout",
        "description": "Shout.",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
    },
    "run": shout,
}


# An agent


def test_an_agent_has_a_name_and_one_by_default(recorded: Recorded) -> None:
    assert Agent(Parrot(), name="Ada").name == "Ada"
    assert Agent(Parrot()).name == "Assistant"
    assert Agent(Parrot(), language="zh").name == "智能助理"
    recorded("The default name follows the language")


def test_a_system_prompt_is_wrapped_in_the_agents_own() -> None:
    agent = Agent(Parrot(), name="Ada", system_prompt="Speak plainly.")
    assert agent.system_prompt == build_system_prompt("Ada", "Speak plainly.")
    assert "Speak plainly." in agent.system_prompt


def test_the_model_is_gpt_4o_mini_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.delenv("OPENAI_MODEL", raising=False)
    assert Agent().endpoint_and_model[1] == "gpt-4o-mini"


def test_the_model_may_be_an_object() -> None:
    parrot = Parrot()
    assert Agent(llm=parrot).model is parrot


def test_an_object_that_is_no_model_is_refused() -> None:
    with pytest.raises(TypeError, match="A model is a name, or an object with a method stream"):
        Agent(llm=object())  # type: ignore[arg-type]


def test_there_may_be_no_tools() -> None:
    assert Agent(Parrot(), tools=None).tools == ()


async def test_a_temperature_is_sent_and_none_by_default(
    make_agent: MakeAgent, model_server: ScriptedModel, recorded: Recorded
) -> None:
    for given in ({"temperature": 0.7}, {}):
        model_server.script(Reply("ok"))
        await told(make_agent(**given))
    assert [request.get("temperature") for request in model_server.requests] == [0.7, None]
    recorded("No default temperature.")


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(TypeError, match="no option 'temprature'; the nearest is 'temperature'"):
        Agent(Parrot(), temprature=0.7)


# Tools


async def test_the_list_tool_is_registered_by_itself_and_tools_of_ones_own_beside_it(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(Reply("ok"))
    await told(make_agent(tools=[edit, SHOUT]))
    offered = [given["function"]["name"] for given in model_server.requests[0]["tools"]]
    assert offered == ["TodoWrite", "edit", "shout"]


async def test_a_tool_may_be_a_function_or_a_dictionary(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(
        Reply(tool_calls=[("edit", {"path": "a.py"}), ("shout", {"text": "hey"})]), Reply("ok")
    )
    await told(make_agent(tools=[edit, SHOUT]))
    assert results(model_server.requests[1]) == ["edited a.py", "HEY"]


async def test_the_list_tool_can_be_made_for_a_store_of_ones_own() -> None:
    store = TodoStore("lean")
    result = await create_todo_tool(store).call(ASK)
    assert result.text == store.render() == "[ ] Ask\n\n(0/1 completed)"
    assert store.statuses == ["pending"]


# Events


async def test_a_turn_is_told_as_events_of_known_types(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(Reply(tool_calls=[("TodoWrite", ASK)]), Reply("ok"))
    events = await told(make_agent(todo_policy="lean"))
    assert {event.type for event in events} <= set(EventType)
    assert all(isinstance(event, Event) for event in events)
    assert events[-1].type == EventType.END


async def test_an_accepted_list_is_a_todo_update(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    model_server.script(Reply(tool_calls=[("TodoWrite", ASK)]), Reply("ok"))
    events = await told(make_agent(todo_policy="lean"))
    (update,) = (event for event in events if event.type == EventType.TODO_UPDATE)
    assert [todo.content for todo in update.items] == ["Ask"]
    assert of(TodoDraft, events), "and is there before it is whole"


def test_events_have_constructors() -> None:
    call, items = ToolCall("1", "TodoWrite", "{}"), (TodoItem("Ask"),)
    assert Event.todo_update(call, items) == TodoUpdate(call, items)  # type: ignore[attr-defined]


# Results


async def test_a_result_has_the_todos_as_a_list(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    model_server.script(Reply(tool_calls=[("TodoWrite", ASK)]), Reply("Done."))
    result = await make_agent(todo_policy="lean").complete(HELLO)
    assert isinstance(result.todos, list)
    assert (result.text, result.todos[0].content) == ("Done.", "Ask")
    assert result.todos[0].as_dict() == {"content": "Ask", "status": "pending"}


async def test_the_list_is_the_callers_to_keep_unless_the_agent_is_to(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    left = []
    for keep in (False, True):
        agent = make_agent(todo_policy="lean", keep_todos=keep)
        model_server.script(Reply(tool_calls=[("TodoWrite", ASK)]), Reply("ok"), Reply("ok"))
        await agent.complete(HELLO)
        left.append([todo.content for todo in (await agent.complete(HELLO)).todos])
    assert left == [[], ["Ask"]]


# Limits and retries


async def test_a_limit_ends_the_turn_with_a_sentence(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(Reply(tool_calls=[("edit", {"path": "a.py"})]))
    result = await make_agent(limits=LoopLimits(steps=1), tools=[edit]).complete(HELLO)
    assert (result.stop_reason, result.steps) == ("limit", 1)
    assert result.sentence == "Stopped: the turn reached its limit of 1 steps."
    assert LoopLimits is Limits


async def test_a_fault_that_may_pass_is_tried_again_as_often_as_said(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    retry = RetryConfig(attempts=2, first_delay=0)
    model_server.script(Reply(status=503), Reply(status=503), Reply("too late"))
    events = await told(make_agent(retry=retry))
    assert len(of(Retrying, events)) == 1
    assert end(events).reason == "failed"
    assert RetryConfig is Retry


def test_every_limit_and_retry_has_a_default() -> None:
    for kind in (LoopLimits, RetryConfig):
        parameters = inspect.signature(kind).parameters.values()
        assert all(parameter.default is not inspect.Parameter.empty for parameter in parameters)
