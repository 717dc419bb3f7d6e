"""The site with its worker, its socket and a scripted model, new for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from channels.layers import channel_layers

from agentsite.asgi import router
from agentsite.embedded import EmbeddedWorker
from tests.live.site import Site
from tests.model_server import ScriptedModel


@pytest.fixture
async def site(
    transactional_db: Any, settings: Any, collected: None, owner: Any, model_server: ScriptedModel
) -> AsyncIterator[Site]:
    settings.MODEL_BASE_URL = model_server.base_url
    settings.MODEL_API_KEY = "sk-tests-0123456789"
    settings.MODEL_TRANSPORT = settings.WORKSPACE_SEED = None
    # The layer holds on to the event loop of the test that used it first.
    channel_layers.backends.clear()
    application = EmbeddedWorker(router)
    site = Site(application, owner)
    yield site
    await site.close()
    await application.drain()
