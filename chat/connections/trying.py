"""An endpoint as it can be tried: the list of its models and clients of them, which are not kept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from chat.agent import Model
from chat.agent.model.trial import Candidate
from chat.connections.endpoint import Endpoint
from chat.connections.model_clients import new_model
from chat.connections.model_lists import list_models
from chat.database import in_database

if TYPE_CHECKING:
    from chat.agent.model.chat_model import ChatModel


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
