"""Reminders in a running turn: when, where, and that sent messages never change."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from chat.agent import Spent, StepStarted, TodoItem, tool
from chat.demo.reply import Reply, Request
from tests.agent.conftest import MakeAgent
from tests.agent.turns import HELLO, PLAN, end, of, results, told
from tests.model_server import ScriptedModel

FIRST = "<reminder>Use TodoWrite for multi-step tasks.</reminder>\n"
LISTS: dict[str, dict[str, Any]] = {
    "focused": PLAN,
    "lean": {"todos": [{"content": "Read"}]},
    "checklist": {"items": [{"id": "1", "text": "Read"}]},
}
LATER = {
    "focused": (11, "<reminder>11+ turns without todo update. Please update todos.</reminder>\n"),
    "lean": (10, "<reminder>10+ turns without todo update. Please update todos.</reminder>\n"),
    "checklist": (3, "<reminder>Update your todos.</reminder>\n"),
}
DONE = {"items": [{"id": "1", "text": "Read", "status": "done"}]}
OPEN = (TodoItem("Read", key="1", id="a1"),)


@tool
async def look(at: int) -> str:
    """Look."""
    return f"seen {at}"


def working(rounds: int, *writes: tuple[int, dict[str, Any]]) -> Any:
    """A model that works for some rounds, writes its list in some of them, and stops."""
    lists = dict(writes)

    def answer(request: Request) -> Reply:
        if request.number > rounds:
            return Reply("done")
        if request.number in lists:
            return Reply(tool_calls=[("TodoWrite", lists[request.number])])
        return Reply(tool_calls=[("look", {"at": request.number}), ("look", {"at": -request.number})])

    return answer


def reminded(model: ScriptedModel) -> list[int]:
    """The numbers of the requests with a new reminder."""
    counts = [json.dumps(request["messages"][2:]).count("<reminder>") for request in model.requests]
    return [number for number, (a, b) in enumerate(itertools.pairwise([0, *counts]), 1) if b > a]


async def test_the_first_reminder_stands_ahead_of_the_first_user_message(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    conversation = [
        *HELLO,
        {"role": "assistant", "content": "Hi."},
        {"role": "user", "content": "Read the files."},
    ]
    model_server.script(Reply("ok"))
    await told(make_agent(), conversation)
    sent = model_server.requests[0]["messages"]
    assert sent[1] == {"role": "user", "content": f"{FIRST}hello"}
    assert sent[2:] == conversation[1:]


@pytest.mark.parametrize("policy", sorted(LATER))
async def test_the_later_one_comes_in_the_request_after_the_last_round_of_the_count(
    make_agent: MakeAgent, model_server: ScriptedModel, policy: str
) -> None:
    rounds, text = LATER[policy]
    # The list is round 1, so the count of rounds without one begins at round 2.
    model_server.answer = working(rounds + 3, (1, LISTS[policy]))
    events = await told(make_agent(tools=[look], todo_policy=policy))
    assert reminded(model_server) == [rounds + 2]
    latest = [m["content"] for m in model_server.requests[rounds + 1]["messages"][-2:]]
    assert latest == [f"{text}seen {rounds + 1}", f"seen {-rounds - 1}"]
    given = [step.reminder for step in of(StepStarted, events) if step.reminder]
    assert [f"<reminder>{reminder}</reminder>\n" for reminder in given] == [text]


async def test_in_chinese_both_are_chinese(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    model_server.answer = working(3)
    await told(make_agent(tools=[look], todo_policy="checklist", language="zh"))
    sent = model_server.requests[-1]["messages"]
    assert sent[1]["content"] == "<reminder>请先规划，再执行</reminder>\nhello"
    assert sent[-2]["content"] == "<reminder>请更新你的任务列表</reminder>\nseen 3"


async def test_any_todo_write_starts_the_count_again(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.answer = working(7, (1, LISTS["checklist"]), (4, LISTS["checklist"]))
    await told(make_agent(tools=[look], todo_policy="checklist"))
    assert reminded(model_server) == [8]


async def test_a_refused_todo_write_does_so_too(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    refused = {"items": [{"id": "1", "text": "Read", "status": "started"}]}
    model_server.answer = working(7, (1, LISTS["checklist"]), (4, refused))
    await told(make_agent(tools=[look], todo_policy="checklist"))
    assert any(text.startswith("Error: Item 0: invalid") for text in results(model_server.requests[-1]))
    assert reminded(model_server) == [8]


async def test_a_todo_write_beside_other_calls_does_so_too(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    mixed = Reply(tool_calls=[("look", {"at": 0}), ("TodoWrite", LISTS["checklist"]), ("look", {"at": 1})])
    rounds = [Reply(tool_calls=[("look", {"at": at})]) for at in range(2)]
    model_server.script(*rounds, mixed, *rounds, Reply("done"))
    await told(make_agent(tools=[look], todo_policy="checklist"))
    assert reminded(model_server) == []


async def test_a_reminder_starts_the_count_again(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    model_server.answer = working(10, (1, LISTS["checklist"]))
    await told(make_agent(tools=[look], todo_policy="checklist"))
    assert reminded(model_server) == [5, 8, 11]


async def test_it_stops_when_the_list_is_complete(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    model_server.answer = working(10, (1, DONE))
    await told(make_agent(tools=[look], todo_policy="checklist"))
    assert reminded(model_server) == []


async def test_without_any_list_it_comes_once_a_turn(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.answer = working(10)
    agent = make_agent(tools=[look], todo_policy="checklist")
    await told(agent)
    assert reminded(model_server) == [4]
    del model_server.requests[:]
    await told(agent)
    assert reminded(model_server) == [4]


async def test_the_count_belongs_to_the_turn(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    agent = make_agent(tools=[look], todo_policy="checklist")
    for _ in range(3):
        del model_server.requests[:]
        model_server.answer = working(2)
        await told(agent, todos=OPEN)
        assert reminded(model_server) == []


async def test_a_turn_taken_up_again_counts_on(make_agent: MakeAgent, model_server: ScriptedModel) -> None:
    model_server.answer = working(1)
    agent = make_agent(tools=[look], todo_policy="checklist")
    events = await told(agent, todos=OPEN, spent=Spent(steps=2, tool_calls=2, rounds=2))
    assert reminded(model_server) == [2]
    assert [step.step for step in of(StepStarted, events)] == [3, 4]


async def test_a_turn_taken_up_when_one_is_due_gets_it_at_once(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}
    conversation: list[dict[str, Any]] = [
        *HELLO,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "seen 1"},
    ]
    model_server.script(Reply("done"))
    agent = make_agent(tools=[look], todo_policy="checklist")
    await told(agent, conversation, todos=OPEN, spent=Spent(rounds=3))
    assert model_server.requests[0]["messages"][-1]["content"] == f"{LATER['checklist'][1]}seen 1"
    assert conversation[-1]["content"] == "seen 1"


async def test_one_that_is_due_waits_for_results_to_ride_on(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    model_server.script(Reply("done"))
    agent = make_agent(todo_policy="checklist")
    events = await told(agent, todos=OPEN, spent=Spent(rounds=9))
    assert of(StepStarted, events)[0].reminder == ""
    assert end(events).reason == "completed"


async def test_a_note_after_the_results_leaves_the_reminder_in_its_place(
    make_agent: MakeAgent, model_server: ScriptedModel
) -> None:
    async def inbox() -> list[dict[str, Any]]:
        return [{"role": "user", "content": "hurry"}]

    model_server.answer = working(3)
    await told(make_agent(tools=[look], todo_policy="checklist"), inbox=inbox)
    last = [message["content"] for message in model_server.requests[3]["messages"][-3:]]
    assert last == [f"{LATER['checklist'][1]}seen 3", "seen -3", "hurry"]


@pytest.mark.parametrize("policy", sorted(LATER))
async def test_a_reminder_is_never_a_message_nor_a_call_of_its_own_and_nothing_sent_changes(
    make_agent: MakeAgent, model_server: ScriptedModel, policy: str
) -> None:
    model_server.answer = working(25, (2, LISTS[policy]))
    await told(make_agent(tools=[look], todo_policy=policy))
    requests = [request["messages"] for request in model_server.requests]
    assert len(requests) == 26
    assert len(reminded(model_server)) >= 2
    for before, after in itertools.pairwise(requests):
        assert after[: len(before)] == before
    roles = [message["role"] for message in requests[-1]]
    assert roles.count("system") == roles.count("user") == 1
    assert [role for role in roles if role == "assistant"] == ["assistant"] * 25
    assert all("<reminder>" not in str(m["content"]) for m in requests[-1] if m["role"] == "assistant")
