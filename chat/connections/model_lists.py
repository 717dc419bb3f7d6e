"""Which models endpoints list: asked for when somebody chooses one, and remembered for a while."""

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
from chat.connections.model_clients import new_model, remember
from chat.database import in_database
from chat.models import ModelSettings, Profile

if TYPE_CHECKING:
    from chat.agent.model.chat_model import ChatModel
    from chat.agent.model.listing import ListedModel


FRESH = 600.0  # seconds
_NOBODYS = "none"  # in a key's place


@dataclass(frozen=True)
class _Kept:
    endpoint: Endpoint
    at: float
    models: list[ListedModel]


_lists: dict[int | None, _Kept] = {}


def known_models(endpoint: Endpoint) -> list[ListedModel] | None:
    """What the endpoint listed when this process asked it last; None where that is too long ago."""
    kept = _lists.get(endpoint.connection)
    if kept is None or kept.endpoint != endpoint or time.monotonic() - kept.at > FRESH:
        return None
    return kept.models


async def models_of(endpoint: Endpoint) -> list[ListedModel]:
    """What the endpoint lists, asked for unless it is known; raises ModelError."""
    known = known_models(endpoint)
    return await list_models(endpoint) if known is None else known


async def list_models(endpoint: Endpoint, *, with_key: bool = True) -> list[ListedModel]:
    """What the endpoint lists, asked for now; raises ModelError."""
    from chat.agent.model.listing import models_at

    if not with_key:
        return await models_at(**{**endpoint.client, "api_key": _NOBODYS})
    models = await models_at(**endpoint.client)
    _lists[endpoint.connection] = _Kept(endpoint, time.monotonic(), models)
    with suppress(DatabaseError):  # kept the next time
        await in_database(keep_windows, endpoint, models)
    return models


def keep_windows(endpoint: Endpoint, listed: Iterable[ListedModel]) -> None:
    """Write down the windows of the models that profiles use; lists have hundreds that nobody does."""
    used = set(Profile.objects.filter(connection=endpoint.connection).values_list("model", flat=True))
    if endpoint.connection is None:
        used.add(settings.MODEL_NAME)
    rows = ModelSettings.objects.filter(connection=endpoint.connection, model__in=used)
    known = {row.model: row.learned.get("context_window") for row in rows}
    for model in listed:
        if model.name in used and model.context_window and known.get(model.name) != model.context_window:
            remember(endpoint.connection, model.name, {"context_window": model.context_window})


@asynccontextmanager
async def candidate(endpoint: Endpoint) -> AsyncIterator[Candidate]:
    """The endpoint as a candidate for a trial; its clients are closed in the end."""
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
