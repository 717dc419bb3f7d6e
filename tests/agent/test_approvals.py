"""Calls that need a decision before they run, now or much later."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from chat.agent import (
    Agent,
    Limits,
    NotesRead,
    Reply,
    Spent,
    StepStarted,
    ToolCall,
    ToolCallEnded,
    ToolCallStarted,
    Undecided,
    tool,
)
from chat.agent.turn import Budget
from chat.demo.reply import Call
from chat.demo.reply import Reply as Scripted
from tests.agent.conftest import MakeAgent
from tests.agent.turns import HELLO, PLAN, end, of, results, told
from tests.model_server import ScriptedModel


@tool
async def double(number: int) -> str:
    """Double a number."""
    return str(2 * number)


class Person:
    """Decides on the given calls and leaves all others undecided."""

    def __init__(self, **decisions: str | None) -> None:
        self.decisions = decisions
        self.asked: list[str] = []

    async def __call__(self, call: ToolCall) -> str | None:
        self.asked.append(call.id)
        if call.id not in self.decisions:
            raise Undecided
        return self.decisions[call.id]


THREE = [Call("double", {"number": number}, f"c{number}") for number in (1, 2, 3)]


async def stood_still(agent: Agent, person: Person) -> tuple[list[Any], list[dict[str, Any]], Reply]:
    """A turn's events up to an undecided call, and the arguments to resume it."""
    events = await told(agent, approve=person)
    assert end(events).reason == "waiting"
    reply = of(Reply, events)[-1]
    answers = [
        {"role": "tool", "tool_call_id": event.call.id, "content": event.result.text}
        for event in of(ToolCallEnded, events)
    ]
    return events, [*HELLO, reply.as_message(), *answers], reply


async def test_an_undecided_call_ends_the_turn_as_waiting(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(Scripted("Let me.", tool_calls=THREE))
    person = Person(c1=None)
    events, _messages, _reply = await stood_still(make_agent(tools=[double]), person)
    assert person.asked == ["c1", "c2"], "the third waits for its turn"
    assert [event.call.id for event in of(ToolCallStarted, events)] == ["c1"]
    last = end(events)
    assert last.call is not None
    assert (last.call.id, last.text, last.sentence) == ("c2", "Let me.", "")


async def test_it_is_taken_up_where_it_stood(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    model_server.script(Scripted(tool_calls=THREE), Scripted("Done."))
    agent = make_agent(tools=[double])
    _events, messages, reply = await stood_still(agent, Person(c1=None))
    person = Person(c2=None, c3="Enough.")
    events = await told(agent, messages, approve=person, unfinished=reply, spent=Spent(steps=1, tool_calls=1))
    assert person.asked == ["c2", "c3"]
    assert [(event.call.id, event.status) for event in of(ToolCallEnded, events)] == [
        ("c2", "succeeded"),
        ("c3", "denied"),
    ]
    assert [event.step for event in of(StepStarted, events)] == [2]
    assert (end(events).reason, end(events).text, end(events).call) == ("completed", "Done.", None)
    assert results(model_server.requests[1]) == ["2", "4", "Error: the user denied this call. Enough."]
    assert len(model_server.requests) == 2


async def test_it_may_wait_more_than_once(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    model_server.script(Scripted(tool_calls=THREE))
    agent = make_agent(tools=[double])
    _events, messages, reply = await stood_still(agent, Person())
    events = await told(agent, messages, approve=Person(c1=None), unfinished=reply)
    assert [event.call.id for event in of(ToolCallEnded, events)] == ["c1"]
    last = end(events)
    assert last.reason == "waiting"
    assert last.call is not None
    assert last.call.id == "c2"


async def test_a_list_that_was_written_before_the_wait_is_not_written_twice(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    calls = [
        Call("TodoWrite", PLAN, "c1"),
        Call("double", {"number": 2}, "c2"),
        Call("TodoWrite", PLAN, "c3"),
    ]
    model_server.script(Scripted(tool_calls=calls), Scripted("Done."))
    agent = make_agent(tools=[double])
    _events, messages, reply = await stood_still(agent, Person(c1=None))
    events = await told(agent, messages, approve=Person(c2=None, c3=None), unfinished=reply)
    assert [event.status for event in of(ToolCallEnded, events)] == ["succeeded", "failed"]
    assert results(model_server.requests[1])[2].startswith("Error: Only one TodoWrite")


async def test_notes_are_read_only_when_all_is_answered(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    async def inbox() -> list[dict[str, str]]:
        return [{"role": "user", "content": "and quickly"}]

    model_server.script(Scripted(tool_calls=THREE[:1]), Scripted("Done."))
    agent = make_agent(tools=[double])
    first, messages, reply = await stood_still(agent, Person())
    assert not of(NotesRead, first)
    await told(agent, messages, approve=Person(c1=None), unfinished=reply, inbox=inbox)
    assert [message["role"] for message in model_server.requests[1]["messages"][-2:]] == ["tool", "user"]


@pytest.mark.parametrize(
    ("language", "said"), [("en", "gave no reason. Do not try the same"), ("zh", "没有说明理由")]
)
async def test_a_denial_without_a_reason_says_so(
    make_agent: MakeAgent, model_server: ScriptedModel, language: str, said: str
) -> None:
    model_server.script(Scripted(tool_calls=THREE[:1]), Scripted("ok"))
    await told(make_agent(tools=[double], language=language), approve=Person(c1=" "))
    assert said in results(model_server.requests[1])[0]


async def test_waiting_for_a_person_takes_none_of_the_turns_time() -> None:
    budget = Budget(Limits(seconds=1), Spent(), "en")
    before = budget.deadline
    with budget.paused():
        await asyncio.sleep(0.05)
    assert budget.deadline - before >= 0.05


async def test_a_result_tells_which_call_waits(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    model_server.script(Scripted(tool_calls=THREE))
    result = await make_agent(tools=[double]).complete(HELLO, approve=Person())
    assert result.call is not None
    assert (result.stop_reason, result.call.id) == ("waiting", "c1")
