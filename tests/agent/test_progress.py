"""Output of running tools."""

from __future__ import annotations

import asyncio
import gc
from contextlib import aclosing, suppress

import pytest

from chat.agent import End, Limits, ToolCallEnded, ToolCallProgress, ToolCallStarted, tool
from chat.agent.progress import Watched, report
from chat.demo.reply import Reply
from tests.agent.conftest import MakeAgent
from tests.agent.turns import HELLO, of, told
from tests.model_server import ScriptedModel


async def test_what_a_tool_reports_comes_while_it_works(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    seen = asyncio.Event()

    @tool
    async def count() -> str:
        """Count until somebody has seen it."""
        numbers = [1]
        while not seen.is_set():
            numbers.append(numbers[-1] + 1)
            report(lambda: f"counted to {numbers[-1]}")
            await asyncio.sleep(0)
        return f"done at {numbers[-1]}"

    model_server.script(Reply(tool_calls=[("count", {})]), Reply("ok"))
    events = []
    async with aclosing(make_agent(tools=[count]).run(HELLO)) as turn:
        async for event in turn:
            events.append(event)
            if isinstance(event, ToolCallProgress):
                seen.set()
    kinds = [type(event) for event in events]
    assert kinds.count(ToolCallProgress) == 1, "far fewer than were reported"
    assert kinds.index(ToolCallStarted) < kinds.index(ToolCallProgress) < kinds.index(ToolCallEnded)
    (progress,), (ended,) = of(ToolCallProgress, events), of(ToolCallEnded, events)
    assert progress.call == ended.call
    assert progress.text.startswith("counted to ")
    assert ended.result.text.startswith("done at ")


async def test_a_quick_tool_is_over_before_anything_is_shown(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    @tool
    async def quick() -> str:
        """Report, and be done."""
        report(lambda: pytest.fail("nobody can see it"))
        return "done"

    model_server.script(Reply(tool_calls=[("quick", {})]), Reply("ok"))
    assert not of(ToolCallProgress, await told(make_agent(tools=[quick])))


async def test_what_was_shown_outlives_the_turns_time(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    @tool
    async def endless() -> str:
        """Say one thing and never come to an end."""
        report(lambda: "half of it")
        await asyncio.Event().wait()
        return "never"

    model_server.script(Reply(tool_calls=[("endless", {})]))
    events = await told(make_agent(tools=[endless], limits=Limits(seconds=2)))
    assert of(End, events)[0].reason == "limit"
    assert of(ToolCallEnded, events)[0].result.text.endswith("\nhalf of it")


async def test_cancelled_twice_the_turn_still_waits_for_its_tool(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    working, cancelled, let_go = asyncio.Event(), asyncio.Event(), asyncio.Event()
    ended: list[str] = []

    @tool
    async def work() -> str:
        """Take its time to stop."""
        working.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
            while not let_go.is_set():
                with suppress(asyncio.CancelledError):
                    await let_go.wait()
            ended.append("work")
        return "never"

    model_server.script(Reply(tool_calls=[("work", {})]))
    turn = asyncio.create_task(told(make_agent(tools=[work])))
    async with asyncio.timeout(5):
        await working.wait()
        turn.cancel()
        await cancelled.wait()
        turn.cancel()
        await asyncio.sleep(0)
        let_go.set()
        with pytest.raises(asyncio.CancelledError):
            await turn
    assert ended == ["work"]


def test_nobody_need_listen() -> None:
    report(lambda: pytest.fail("nobody asked"))


async def test_a_failure_that_nobody_waited_for_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    """As where a turn is stopped in the moment in which its model fails."""

    async def fail() -> None:
        raise ValueError("no")

    async with Watched(fail()) as watched:
        assert await watched.ends_within(10)
    del watched
    gc.collect()
    assert "never retrieved" not in caplog.text
