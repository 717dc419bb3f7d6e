"""Limits end a turn with a sentence that names the limit; every call still gets a result."""

from __future__ import annotations

import asyncio

import pytest

from chat.agent import Limits, Retry, Spent, ToolCallEnded, ToolCallStarted, tool
from chat.agent.prompts import Language
from chat.demo.reply import Reply, Request
from tests.agent.conftest import MakeAgent
from tests.agent.turns import end, of, results, told
from tests.model_server import ScriptedModel


@tool
async def look(at: int = 0) -> str:
    """Look."""
    return f"seen {at}"


@tool
async def wait_for_ever() -> str:
    """Never comes to an end."""
    await asyncio.Event().wait()
    return "never"


def looking(request: Request) -> Reply:
    """A model that never stops calling tools."""
    return Reply(f"Look {request.number}.", tool_calls=[("look", {"at": request.number})])


@pytest.mark.parametrize(
    ("language", "sentence"),
    [("en", "Stopped: the turn reached its limit of 3 steps."), ("zh", "已停止：本轮达到了 3 步的上限。")],
)
async def test_steps(
    make_agent: MakeAgent, model_server: ScriptedModel, language: Language, sentence: str
) -> None:
    model_server.answer = looking
    last = end(await told(make_agent(tools=[look], limits=Limits(steps=3), language=language)))
    assert (last.reason, last.sentence, last.text, last.steps) == ("limit", sentence, "Look 3.", 3)
    assert len(model_server.requests) == 3


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "Stopped: the turn reached its limit of 2 tool calls."),
        ("zh", "已停止：本轮达到了 2 次工具调用的上限。"),
    ],
)
async def test_tool_calls(
    make_agent: MakeAgent, model_server: ScriptedModel, language: Language, sentence: str
) -> None:
    model_server.script(Reply(tool_calls=[("look", {"at": at}) for at in range(4)]))
    events = await told(make_agent(tools=[look], limits=Limits(tool_calls=2), language=language))
    assert (end(events).reason, end(events).sentence) == ("limit", sentence)
    ended = of(ToolCallEnded, events)
    assert [event.status for event in ended] == ["succeeded", "succeeded", "failed", "failed"]
    assert all(sentence in event.result.text for event in ended[2:])
    assert len(of(ToolCallStarted, events)) == 2


async def test_tool_calls_that_are_used_up_allow_no_further_step(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.answer = looking
    last = end(await told(make_agent(tools=[look], limits=Limits(tool_calls=2))))
    assert last.sentence == "Stopped: the turn reached its limit of 2 tool calls."
    assert len(model_server.requests) == 2


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "Stopped: the turn reached its time limit of 0.3 seconds."),
        ("zh", "已停止：本轮达到了 0.3 秒的时间上限。"),
    ],
)
async def test_seconds_in_a_tool(
    make_agent: MakeAgent, model_server: ScriptedModel, language: Language, sentence: str
) -> None:
    model_server.script(Reply(tool_calls=[("wait_for_ever", {}), ("look", {})]))
    agent = make_agent(tools=[look, wait_for_ever], limits=Limits(seconds=0.3), language=language)
    events = await told(agent)
    assert (end(events).reason, end(events).sentence) == ("limit", sentence)
    assert [event.status for event in of(ToolCallEnded, events)] == ["failed", "failed"]
    assert [event.call.name for event in of(ToolCallStarted, events)] == ["wait_for_ever"]


async def test_seconds_while_the_model_writes(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    model_server.script(Reply("abcdef", piece=3, stall_after=2))
    last = end(await told(make_agent(limits=Limits(seconds=0.3))))
    assert last.sentence == "Stopped: the turn reached its time limit of 0.3 seconds."
    await asyncio.to_thread(model_server.wait_for_disconnects)


async def test_seconds_while_waiting_to_try_again(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    model_server.script(Reply(status=429, headers={"Retry-After": "30"}))
    last = end(await told(make_agent(limits=Limits(seconds=0.3), retry=Retry())))
    assert last.sentence == "Stopped: the turn reached its time limit of 0.3 seconds."


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "Stopped: the agent asked for the same call (look) 5 times in a row."),
        ("zh", "已停止：助理连续 5 次发出相同的调用（look）。"),
    ],
)
async def test_the_same_call_five_times_in_a_row(
    make_agent: MakeAgent, model_server: ScriptedModel, language: Language, sentence: str
) -> None:
    model_server.answer = lambda request: Reply(tool_calls=[("look", {"at": 1})])
    events = await told(make_agent(tools=[look], language=language))
    assert (end(events).reason, end(events).sentence) == ("limit", sentence)
    assert len(model_server.requests) == 5
    assert [event.status for event in of(ToolCallEnded, events)] == [*["succeeded"] * 4, "failed"]


async def test_a_call_in_between_starts_the_row_again(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    def answer(request: Request) -> Reply:
        if request.number == 10:
            return Reply("enough")
        return Reply(tool_calls=[("look", {"at": 2 if request.number == 5 else 1})])

    model_server.answer = answer
    assert end(await told(make_agent(tools=[look]))).text == "enough"


async def test_a_reply_cut_at_its_length_ends_the_turn_with_what_there_is(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(Reply("Once upon a", finish_reason="length"))
    last = end(await told(make_agent()))
    assert (last.reason, last.text) == ("limit", "Once upon a")
    assert last.sentence == "Stopped: the model's reply reached its length limit and was cut off."


@pytest.mark.parametrize("arguments", ['{"at": ', ""])
async def test_a_call_cut_at_the_length_is_not_run_and_the_model_is_told(
    make_agent: MakeAgent, model_server: ScriptedModel, arguments: str
) -> None:
    model_server.script(
        Reply(tool_calls=[("look", {"at": 1}), ("look", arguments)], finish_reason="length"), Reply("ok")
    )
    events = await told(make_agent(tools=[look]))
    whole, cut = results(model_server.requests[1])
    assert whole == "seen 1"
    assert cut.startswith("Error: the reply was cut off while these arguments were written")
    assert len(of(ToolCallStarted, events)) == 1
    assert end(events).reason == "completed"


@pytest.mark.parametrize(
    ("spent", "which"),
    [
        (Spent(steps=100), "100 steps"),
        (Spent(tool_calls=200), "200 tool calls"),
        (Spent(seconds=3600), "time limit of 3600 seconds"),
    ],
)
async def test_a_turn_taken_up_again_has_used_what_it_has_used(
    make_agent: MakeAgent, model_server: ScriptedModel, spent: Spent, which: str
) -> None:
    last = end(await told(make_agent(), spent=spent))
    assert last.reason == "limit"
    assert which in last.sentence
    assert model_server.requests == []


async def test_steps_are_counted_on_from_what_was_spent(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.answer = looking
    last = end(await told(make_agent(tools=[look], limits=Limits(steps=5)), spent=Spent(steps=3)))
    assert last.steps == 5
    assert len(model_server.requests) == 2
