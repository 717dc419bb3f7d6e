"""The turn's loop of model calls and tool calls."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chat.agent import (
    Agent,
    NotesRead,
    Reasoning,
    Reply,
    StepStarted,
    Text,
    TodoUpdate,
    ToolCall,
    ToolCallEnded,
    ToolCallStarted,
    ToolError,
    Usage,
    tool,
)
from chat.demo.reply import Call
from chat.demo.reply import Reply as Scripted
from tests.agent.conftest import MakeAgent
from tests.agent.turns import HELLO, PLAN, end, of, results, told
from tests.model_server import ScriptedModel


@tool
async def double(number: int) -> int:
    """Double a number."""
    return number * 2


@tool
async def broken(text: str = "") -> str:
    """Never works."""
    raise ValueError(text or "out of order")


async def test_a_reply_without_tool_calls_is_the_answer(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 2}
    model_server.script(Scripted("Hi there", "They greet", piece=4, usage=usage))
    events = await told(make_agent())
    assert [event.type for event in events] == [
        "step_started",
        *["reasoning"] * 3,
        *["text"] * 2,
        "usage",
        "reply",
        "end",
    ]
    assert "".join(event.text for event in of(Text, events)) == "Hi there"
    assert "".join(event.text for event in of(Reasoning, events)) == "They greet"
    last = end(events)
    assert (last.reason, last.text, last.sentence, last.steps) == ("completed", "Hi there", "", 1)
    assert last.usage == Usage(9, 2)


async def test_calls_are_run_and_the_loop_goes_on(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    model_server.script(
        Scripted("Let me see.", tool_calls=[("double", {"number": 4}, "call_1")]), Scripted("It is 8.")
    )
    events = await told(make_agent(tools=[double]))
    assert end(events).text == "It is 8."
    asked = model_server.requests[1]["messages"]
    assert asked[-2] == {
        "role": "assistant",
        "content": "Let me see.",
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "double", "arguments": '{"number": 4}'},
            }
        ],
    }
    assert asked[-1] == {"role": "tool", "tool_call_id": "call_1", "content": "8"}


async def test_several_calls_in_one_reply_are_run_and_answered_in_order(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    calls = [("double", {"number": n}, f"call_{n}") for n in (3, 1, 2)]
    model_server.script(Scripted(tool_calls=calls), Scripted("done"))
    events = await told(make_agent(tools=[double]))
    answers = [m for m in model_server.requests[1]["messages"] if m["role"] == "tool"]
    assert [(m["tool_call_id"], m["content"]) for m in answers] == [
        ("call_3", "6"),
        ("call_1", "2"),
        ("call_2", "4"),
    ]
    order = [
        (event.type, event.call.id) for event in events if isinstance(event, ToolCallStarted | ToolCallEnded)
    ]
    assert order == [
        (kind, call_id)
        for call_id in ("call_3", "call_1", "call_2")
        for kind in ("tool_call_started", "tool_call_ended")
    ]


WRONG = {
    "unknown tool": (
        ("fly", {}),
        "Error: there is no tool called 'fly'. Tools on offer: TodoWrite, double, broken.",
    ),
    "not JSON": (("double", '{"number": '), "Error: the arguments are not valid JSON ("),
    "NaN": (("double", '{"number": NaN}'), "Error: the arguments are not valid JSON (NaN is not a number)"),
    "endless": (
        ("double", '{"number": 1e999}'),
        "Error: the arguments are not valid JSON (1e999 is not a number)",
    ),
    "a huge number": (
        ("double", '{"number": %s}' % ("9" * 5000)),
        "Error: the arguments are not valid JSON (",
    ),
    "too deep": (("double", "[" * 100_000), "Error: the arguments are not valid JSON ("),
    "a list": (("double", "[4]"), "Error: the arguments must be one JSON object."),
    "wrong type": (("double", {"number": "four"}), "Error: number: Input should be a valid integer"),
    "missing": (("double", {}), "Error: number: Field required"),
    "too many": (("double", {"number": 1, "by": 3}), "Error: by: there is no such argument"),
    "raises": (("broken", {}), "Error: the tool failed: ValueError: out of order"),
}


@pytest.mark.parametrize("name", WRONG)
async def test_whatever_is_wrong_with_a_call_is_a_result_that_the_model_sees(
    make_agent: MakeAgent, model_server: ScriptedModel, name: str
) -> None:
    call, text = WRONG[name]
    model_server.script(Scripted(tool_calls=[call, ("double", {"number": 1})]), Scripted("Sorry."))
    events = await told(make_agent(tools=[double, broken]))
    wrong, right = results(model_server.requests[1])
    assert wrong.startswith(text)
    assert right == "2"
    assert [event.status for event in of(ToolCallEnded, events)] == ["failed", "succeeded"]
    assert end(events).reason == "completed"


async def test_in_chinese_the_model_reads_chinese_errors(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(Scripted(tool_calls=[("fly", {}), ("broken", {})]), Scripted("抱歉"))
    await told(make_agent(tools=[broken], language="zh"))
    assert results(model_server.requests[1]) == [
        "错误: 没有名为 'fly' 的工具。可用的工具: TodoWrite, broken。",
        "错误: 工具运行失败: ValueError: out of order",
    ]


@pytest.mark.parametrize(
    "arguments", ['{"number": 4}', '"{\\"number\\": 4}"', ' {"number": 4}\n', '{"number": "4"}']
)
async def test_arguments_are_read_kindly(
    make_agent: MakeAgent, model_server: ScriptedModel, arguments: str
) -> None:
    model_server.script(Scripted(tool_calls=[("double", arguments)]), Scripted("8"))
    await told(make_agent(tools=[double]))
    assert results(model_server.requests[1]) == ["8"]


async def test_a_call_without_arguments_means_none(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    @tool
    async def ping() -> str:
        """Answer."""
        return "pong"

    model_server.script(Scripted(tool_calls=[("ping", "")]), Scripted("ok"))
    await told(make_agent(tools=[ping]))
    assert results(model_server.requests[1]) == ["pong"]
    call = model_server.requests[1]["messages"][-2]["tool_calls"][0]
    assert call["function"]["arguments"] == "{}"


async def test_half_characters_from_model_and_tool_do_no_harm(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    @tool
    async def echo(text: str) -> str:
        """Say it again, and half a character more."""
        assert text == "a\ufffd"
        return f"{text}\ud83d"

    model_server.script(Scripted(tool_calls=[("echo", '{"text": "a\\ud83d"}')]), Scripted("ok"))
    events = await told(make_agent(tools=[echo]))
    assert results(model_server.requests[1]) == ["a\ufffd\ufffd"]
    assert end(events).reason == "completed"


async def test_a_reply_finished_with_stop_still_has_its_calls_run(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(Scripted(tool_calls=[("double", {"number": 4})], finish_reason="stop"), Scripted("8"))
    assert end(await told(make_agent(tools=[double]))).text == "8"


async def test_a_reply_finished_with_tool_calls_but_without_any_is_the_answer(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(Scripted("That is all.", finish_reason="tool_calls"))
    assert end(await told(make_agent())).text == "That is all."


async def test_the_providers_own_fields_of_a_call_go_back_to_it(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    from chat.demo.reply import chunk, sse

    extra = {"extra_content": {"google": {"thought_signature": "s"}}}
    call = {"index": 0, "id": "1", "function": {"name": "double", "arguments": '{"number": 4}'}, **extra}
    model_server.script(
        Scripted(raw=sse(chunk({"tool_calls": [call]}, "tool_calls"), "[DONE]")), Scripted("8")
    )
    await told(make_agent(tools=[double]))
    sent = model_server.requests[1]["messages"][-2]["tool_calls"][0]
    assert sent["extra_content"] == extra["extra_content"]
    assert "index" not in sent


async def test_a_second_todo_write_in_one_reply_is_refused(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(
        Scripted(tool_calls=[("TodoWrite", PLAN), ("double", {"number": 1}), ("TodoWrite", {"items": []})]),
        Scripted("ok"),
    )
    events = await told(make_agent(tools=[double]))
    assert results(model_server.requests[1])[2] == (
        "Error: Only one TodoWrite in one reply; send the whole list once"
    )
    assert len(of(TodoUpdate, events)) == 1
    assert [todo.content for todo in end(events).todos] == ["Read", "Write"]


async def test_a_second_todo_write_is_refused_also_after_a_refused_one(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(
        Scripted(tool_calls=[("TodoWrite", {}), ("TodoWrite", {"todos": []})]), Scripted("ok")
    )
    events = await told(make_agent(todo_policy="lean"))
    assert results(model_server.requests[1])[1].startswith("❌ Todo update failed: Only one TodoWrite")
    assert of(TodoUpdate, events) == []


async def test_the_list_so_far_is_where_the_turn_begins(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(Scripted(tool_calls=[("TodoWrite", PLAN)]), Scripted("ok"))
    before = end(await told(make_agent())).todos
    model_server.script(Scripted("Nothing new."))
    assert end(await told(make_agent(), todos=before)).todos == before
    model_server.script(Scripted(tool_calls=[("TodoWrite", PLAN)]), Scripted("ok"))
    assert end(await told(make_agent(), todos=before)).todos == before


async def test_notes_are_read_after_all_results_and_before_the_next_call(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    note = {"role": "user", "content": "and in red, please"}
    waiting: list[list[dict[str, Any]]] = [[note], []]

    async def inbox() -> list[dict[str, Any]]:
        return waiting.pop(0)

    calls = [("double", {"number": 1}), ("double", {"number": 2})]
    model_server.script(
        Scripted(tool_calls=calls), Scripted(tool_calls=[("double", {"number": 3})]), Scripted("ok")
    )
    events = await told(make_agent(tools=[double]), inbox=inbox)
    roles = [message["role"] for message in model_server.requests[1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool", "user"]
    assert model_server.requests[1]["messages"][-1] == note
    assert of(NotesRead, events) == [NotesRead((note,))]
    kinds = [event.type for event in events]
    assert kinds.index("notes_read") == kinds.index("step_started", 1) - 1
    assert waiting == []


async def test_a_turn_without_a_next_call_leaves_its_notes_alone(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    from chat.agent import Limits

    async def inbox() -> list[dict[str, Any]]:
        raise AssertionError("nobody would answer these notes")

    model_server.script(Scripted("hi"))
    assert end(await told(make_agent(), inbox=inbox)).reason == "completed"
    model_server.script(Scripted(tool_calls=[("double", {"number": 1})]))
    agent = make_agent(tools=[double], limits=Limits(steps=1))
    assert end(await told(agent, inbox=inbox)).reason == "limit"


async def test_a_denied_call_is_not_run_and_the_model_reads_why(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    asked: list[ToolCall] = []

    async def approve(call: ToolCall) -> str | None:
        asked.append(call)
        return "Not on a Friday." if call.name == "broken" else None

    model_server.script(
        Scripted(tool_calls=[Call("broken", {}, "call_1"), Call("double", {"number": 4}, "call_2")]),
        Scripted("ok"),
    )
    events = await told(make_agent(tools=[double, broken]), approve=approve)
    assert [call.id for call in asked] == ["call_1", "call_2"]
    assert [event.status for event in of(ToolCallEnded, events)] == ["denied", "succeeded"]
    assert [event.call.id for event in of(ToolCallStarted, events)] == ["call_2"]
    assert results(model_server.requests[1]) == [
        "Error: the user denied this call. Not on a Friday.",
        "8",
    ]


async def test_a_reply_tells_its_text_and_calls_before_any_of_them_runs(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(
        Scripted("Both.", tool_calls=[("double", {"number": n}) for n in (1, 2)]), Scripted("ok")
    )
    events = await told(make_agent(tools=[double]))
    reply = of(Reply, events)[0]
    assert (reply.text, reply.finish_reason) == ("Both.", "tool_calls")
    assert [json.loads(call.arguments) for call in reply.calls] == [{"number": 1}, {"number": 2}]
    assert events.index(reply) < events.index(of(ToolCallStarted, events)[0])


async def test_steps_are_numbered_and_usage_is_added_up(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 1}
    model_server.script(
        *(Scripted(tool_calls=[("double", {"number": n})], usage=usage) for n in range(2)),
        Scripted("ok", usage=usage),
    )
    events = await told(make_agent(tools=[double]))
    assert [event.step for event in of(StepStarted, events)] == [1, 2, 3]
    assert of(Usage, events) == [Usage(10, 1)] * 3
    assert (end(events).usage, end(events).steps) == (Usage(30, 3), 3)


async def test_the_callers_messages_stay_as_they_are(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    given = [dict(message) for message in HELLO]
    model_server.script(Scripted(tool_calls=[("double", {"number": 1})]), Scripted("ok"))
    await told(make_agent(tools=[double]), given)
    assert given == HELLO


async def test_a_tool_error_is_told_in_its_own_words(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    @tool
    async def find() -> str:
        """Find nothing."""
        raise ToolError("Error: nothing there. Look elsewhere.")

    model_server.script(Scripted(tool_calls=[("find", {})]), Scripted("ok"))
    await told(make_agent(tools=[find]))
    assert results(model_server.requests[1]) == ["Error: nothing there. Look elsewhere."]


async def test_an_agent_takes_turn_after_turn(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    agent: Agent = make_agent()
    model_server.script(Scripted("one"), Scripted("two"))
    assert end(await told(agent)).text == "one"
    assert end(await told(agent)).text == "two"
