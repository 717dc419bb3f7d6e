"""Model lists of endpoints: fetched on demand, and cached for a while."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import DatabaseError

from chat.agent import Model
from chat.agent.model.trial import Candidate
from chat.connections.endpoint import Endpoint
from chat.connections.model_clients import new_model, save_learned_traits
from chat.database import in_database
from chat.models import ModelSettings, Profile

if TYPE_CHECKING:
    from chat.agent.model.chat_model import ChatModel
    from chat.agent.model.listing import ListedModel


CACHE_SECONDS = 600.0
_DUMMY_KEY = "none"  # sent instead of a key


@dataclass(frozen=True)
class _CachedList:
    endpoint: Endpoint
    at: float
    models: list[ListedModel]


_lists: dict[int | None, _CachedList] = {}


def known_models(endpoint: Endpoint) -> list[ListedModel] | None:
    kept = _lists.get(endpoint.connection)
    if kept is None or kept.endpoint != endpoint or time.monotonic() - kept.at > CACHE_SECONDS:
        return None
    return kept.models


async def models_of(endpoint: Endpoint) -> list[ListedModel]:
    """The endpoint's models, from the cache if possible; raises ModelError."""
    known = known_models(endpoint)
    return await list_models(endpoint) if known is None else known


async def list_models(endpoint: Endpoint, *, with_key: bool = True) -> list[ListedModel]:
    """The endpoint's models, always fetched; raises ModelError."""
    from chat.agent.model.listing import models_at

    if not with_key:
        return await models_at(**{**endpoint.client, "api_key": _DUMMY_KEY})
    models = await models_at(**endpoint.client)
    _lists[endpoint.connection] = _CachedList(endpoint, time.monotonic(), models)
    with suppress(DatabaseError):  # saved the next time
        await in_database(save_context_windows, endpoint, models)
    return models


def save_context_windows(endpoint: Endpoint, listed: Iterable[ListedModel]) -> None:
    """Save context windows of the models that profiles use; lists contain hundreds of others."""
    used = set(Profile.objects.filter(connection=endpoint.connection).values_list("model", flat=True))
    if endpoint.connection is None:
        used.add(settings.MODEL_NAME)
    rows = ModelSettings.objects.filter(connection=endpoint.connection, model__in=used)
    known = {row.model: row.learned.get("context_window") for row in rows}
    for model in listed:
        if model.name in used and model.context_window and known.get(model.name) != model.context_window:
            save_learned_traits(endpoint.connection, model.name, {"context_window": model.context_window})


@asynccontextmanager
async def candidate(endpoint: Endpoint) -> AsyncIterator[Candidate]:
    """The endpoint as a candidate for a trial; its clients are closed at the end."""
    made: list[ChatModel] = []

    async def listed(with_key: bool) -> Sequence[str]:
        return [model.name for model in await list_models(endpoint, with_key=with_key)]

    async def model(name: str) -> Model:
        client: ChatModel = await in_database(new_model, endpoint, name)
        made.append(client)
        return client

    try:
        yield Candidate(listed, model, has_key=bool(endpoint.key))
    finally:
        for client in made:
            await client.close()
