"""An endless conversation stays within the model's window."""

from __future__ import annotations

from typing import Any

import pytest

from chat.agent import Agent, Compacted, Summarising, tool
from chat.demo.reply import Reply, Request
from tests.agent.conftest import MakeAgent
from tests.agent.context.small_window import STYLES, SmallWindow, breaks
from tests.agent.turns import end, of, told
from tests.model_server import ScriptedModel

WORDS = "The quick brown fox jumps over the lazy dog and comes back again. "


@tool
async def look(at: int) -> str:
    """Look at something.

    It has much to show.
    """
    return f"{at}: {WORDS * 60}"


def talk(_request: Request) -> Reply:
    return Reply(text=f"I see. {WORDS * 5}")


def work(request: Request) -> Reply:
    """Look twice in each turn, then answer."""
    looks = 0
    for message in reversed(request.messages):
        if message["role"] == "user":
            break
        looks += message["role"] == "tool"
    if looks < 2:
        return Reply(tool_calls=[("look", {"at": request.number})])
    return talk(request)


async def conversation(agent: Agent, turns: int) -> list[Any]:
    """Run several turns, each continuing the previous one; returns all events."""
    messages: list[dict[str, Any]] = []
    events: list[Any] = []
    for number in range(turns):
        question = {"role": "user", "content": f"Question {number}. {WORDS * 3}"}
        events += await told(agent, [*messages, question])
        ended = end(events[-1:])
        assert ended.reason == "completed", ended
        messages = list(ended.messages)
    return events


@pytest.mark.parametrize(("answer", "turns", "window"), [(talk, 90, 8_000), (work, 24, 16_000)])
async def test_a_long_one_stays_within_the_window(
    make_agent: MakeAgent, model_server: ScriptedModel, answer: Any, turns: int, window: int
) -> None:
    model = SmallWindow(window, answer)
    model_server.answer = model
    events = await conversation(make_agent(tools=[look], context_window=window), turns)
    assert model.refused == 0
    assert model.longest > window / 2, "it is used"
    compactions = of(Compacted, events)
    assert breaks(model.taken) == len(compactions)
    assert 1 < len(compactions) < len(model.taken) / 5, "the prompt cache is of use in between"
    assert len(model.summaries) == len(of(Summarising, events)) <= len(compactions)


@pytest.mark.parametrize("style", STYLES)
async def test_an_unknown_window_is_learned_of_the_endpoints_error(
    make_agent: MakeAgent, model_server: ScriptedModel, style: str
) -> None:
    model = SmallWindow(12_000, work, style)
    model_server.answer = model
    events = await conversation(make_agent(tools=[look]), 12)
    assert model.refused >= 1
    assert of(Compacted, events)
    assert breaks(model.taken) == len(of(Compacted, events))
