"""Which models endpoints list: asked for when somebody chooses one, and remembered for a while."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db import DatabaseError

from chat.connections.endpoint import Endpoint
from chat.connections.windows import keep_windows
from chat.database import in_database

if TYPE_CHECKING:
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
