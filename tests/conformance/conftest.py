"""A conversation with an endpoint that deviates: real turns, rows and pages, without a worker around them."""

from __future__ import annotations

import random
import uuid
from collections.abc import AsyncIterator, Iterable
from typing import Any, Protocol

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client

from chat.connections.model_clients import close_models
from chat.demo.reply import Reply
from chat.live.frames import Change
from chat.models import Conversation, ModelSettings, Profile, Turn
from chat.turns.run_turn import RunningTurn
from tests.conformance.expectation import check
from tests.conformance.scenario import Scenario
from tests.model_server import ScriptedModel


class Nobody:
    """A display that nobody looks at."""

    async def show(self, changes: Iterable[Change]) -> None: ...
    async def finish(self) -> None: ...
    async def close(self) -> None: ...


class Endpoint(Protocol):
    """What a scenario is played with: a ScriptedModel, mostly."""

    answer: Any

    @property
    def base_url(self) -> str: ...
    @property
    def requests(self) -> list[dict[str, Any]]: ...


class Play:
    """Plays a scenario through and checks what came of it."""

    def __init__(self, owner: User, model: Endpoint, settings: Any) -> None:
        self.owner = owner
        self.model = model
        self.settings = settings

    async def __call__(self, scenario: Scenario) -> None:
        """One turn with the scenario's replies and a second one, in which the model reads of the first."""
        replies = iter(scenario.sends)
        self.model.answer = lambda request: next(replies, Reply("Understood."))
        conversation = await sync_to_async(self._set_up)(scenario)
        turn = await self.turn(conversation, "do it")
        asked = len(self.model.requests)
        page = await sync_to_async(self.page)(conversation)
        await self.turn(conversation, "and now?")
        await close_models()  # and so write down what was learned
        await sync_to_async(check)(scenario, turn, page, self.model.requests, asked)

    def _set_up(self, scenario: Scenario) -> Conversation:
        self.settings.MODEL_BASE_URL = self.model.base_url.replace("/v1", scenario.at)
        ModelSettings.objects.create(model=self.settings.MODEL_NAME, traits=dict(scenario.traits))
        profile = Profile.objects.create(title="Test", **scenario.profile) if scenario.profile else None
        return Conversation.objects.create(owner=self.owner, title="Test", profile=profile)

    async def turn(self, conversation: Conversation, text: str) -> Turn:
        """A turn that answers the text, run to its end."""
        turn = await sync_to_async(self._claimed)(conversation, text)
        await RunningTurn(turn, Nobody()).run()
        return turn

    def _claimed(self, conversation: Conversation, text: str) -> Turn:
        turn = Turn.claim("this test", conversation.start_turn(text, uuid.uuid4()).pk)
        assert turn
        return turn

    def page(self, conversation: Conversation) -> str:
        """The conversation's page."""
        client = Client()
        client.force_login(self.owner)
        return client.get(f"/conversations/{conversation.pk}/").content.decode()


@pytest.fixture
async def play(
    transactional_db: Any,
    settings: Any,
    collected: None,
    owner: User,
    model_server: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Play]:
    settings.MODEL_API_KEY = "sk-tests-0123456789"
    settings.MODEL_TRANSPORT = settings.WORKSPACE_SEED = None
    # By chance, no time passes between tries.
    monkeypatch.setattr(random, "uniform", lambda _low, _high: 0.0)
    yield Play(owner, model_server, settings)
    await close_models()
