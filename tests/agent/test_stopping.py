"""Cancelling or closing a turn stops the model's stream and the running tool at once."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from chat.agent import End, StepStarted, Text, ToolCallEnded, ToolCallStarted, tool
from chat.demo.reply import Reply
from tests.agent.conftest import MakeAgent
from tests.agent.turns import HELLO, of, results, told
from tests.model_server import ScriptedModel


async def test_cancelling_stops_the_models_stream(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    model_server.script(Reply("abcdef", piece=3, stall_after=2))
    heard = asyncio.Event()

    async def listen() -> None:
        async for event in make_agent().run(HELLO):
            if isinstance(event, Text):
                heard.set()

    turn = asyncio.create_task(listen())
    await asyncio.wait_for(heard.wait(), 5)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    await asyncio.to_thread(model_server.wait_for_disconnects)


async def test_cancelling_before_the_first_byte_ends_the_request(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(Reply("abc", first_delay=30))
    turn = asyncio.create_task(told(make_agent()))
    await asyncio.to_thread(model_server.wait_for_requests)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    await asyncio.to_thread(model_server.wait_for_disconnects)


async def test_closing_the_iterator_stops_the_models_stream(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(Reply("abcdef", piece=3, stall_after=2))
    async with aclosing(make_agent().run(HELLO)) as events:
        assert isinstance(await anext(events), StepStarted)
        assert await anext(events) == Text("abc")
    await asyncio.to_thread(model_server.wait_for_disconnects)


async def test_cancelling_stops_the_running_tool(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    working, stopped = asyncio.Event(), asyncio.Event()

    @tool
    async def work() -> str:
        """Never comes to an end."""
        working.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return "done"

    model_server.script(Reply(tool_calls=[("work", {}), ("work", {})]))
    turn = asyncio.create_task(told(make_agent(tools=[work])))
    await asyncio.wait_for(working.wait(), 5)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert stopped.is_set()
    assert len(model_server.requests) == 1


async def test_closing_the_iterator_before_a_tool_runs_keeps_it_from_running(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    ran: list[str] = []

    @tool
    async def work() -> str:
        """Say that it ran."""
        ran.append("ran")
        return "done"

    model_server.script(Reply(tool_calls=[("work", {})]))
    async with aclosing(make_agent(tools=[work]).run(HELLO)) as events:
        async for event in events:
            assert not isinstance(event, End)
            if isinstance(event, ToolCallStarted):
                break
    assert ran == []


async def test_a_tool_whose_own_work_was_cancelled_has_failed_and_the_turn_goes_on(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    @tool
    async def work() -> str:
        """Wait for something that is called off."""
        waiting = asyncio.ensure_future(asyncio.Event().wait())
        waiting.cancel()
        await waiting
        return "done"

    model_server.script(Reply(tool_calls=[("work", {})]), Reply("ok"))
    events = await told(make_agent(tools=[work]))
    assert results(model_server.requests[1]) == ["Error: the tool failed: CancelledError"]
    assert of(ToolCallEnded, events)[0].status == "failed"
    assert of(End, events)[0].reason == "completed"
