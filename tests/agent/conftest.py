"""An agent on the scripted model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Protocol

import pytest

from chat.agent import Agent, Retry
from tests.model_server import ScriptedModel, model_server  # noqa: F401  a fixture


class MakeAgent(Protocol):
    def __call__(self, **given: Any) -> Agent: ...


@pytest.fixture
async def make_agent(model_server: ScriptedModel) -> AsyncIterator[MakeAgent]:  # noqa: F811
    """Agents on the scripted model that retry without delay; keyword arguments override the defaults."""
    made: list[Agent] = []

    def make(**given: Any) -> Agent:
        endpoint = {"model": "scripted", "base_url": model_server.base_url, "api_key": "key"}
        made.append(Agent(**{**endpoint, "retry": Retry(first_delay=0), **given}))
        return made[-1]

    yield make
    for agent in made:
        await agent.close()
