"""Servers of models on this machine: looked for at the start and on a click, and offered to the staff."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from django.conf import settings

from chat.agent.model import ModelError
from chat.agent.model.trial import conversational
from chat.connections.endpoint import Endpoint
from chat.connections.model_lists import list_models

NAMES = {11434: "Ollama", 1234: "LM Studio", 8080: "llama.cpp", 8000: "vLLM"}
CONNECT_SECONDS = 0.5
LIST_SECONDS = 5.0


@dataclass(frozen=True)
class LocalServer:
    """A server that answered, at a host and port, with the names of its models."""

    place: str
    models: tuple[str, ...]

    @property
    def name(self) -> str:
        """What usually listens at that port; empty where nothing does."""
        return NAMES.get(int(self.place.rpartition(":")[2]), "")

    @property
    def base_url(self) -> str:
        """Its address as a connection has it."""
        return f"http://{self.place}/v1"


_found: list[LocalServer] = []


def found() -> list[LocalServer]:
    """Those that answered when this process looked last."""
    return list(_found)


async def look() -> list[LocalServer]:
    """Ask the usual places now, all at once, for a few seconds at most."""
    places = [place for place in settings.LOCAL_SERVERS if not _is_ours(place)]
    answers = await asyncio.gather(*map(_ask, places))
    _found[:] = [server for server in answers if server]
    return found()


async def _ask(place: str) -> LocalServer | None:
    if not await _listens(place):  # which spares the client, and its slow import, where nobody is
        return None
    await asyncio.to_thread(__import__, "chat.agent.model.listing")
    endpoint = Endpoint(None, base_url=LocalServer(place, ()).base_url, inside=True)
    try:
        async with asyncio.timeout(LIST_SECONDS):
            listed = await list_models(endpoint, with_key=False)
    except (ModelError, TimeoutError):
        return None
    models = conversational([model.name for model in listed])
    return LocalServer(place, tuple(models)) if models else None


async def _listens(place: str) -> bool:
    host, _colon, port = place.rpartition(":")
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _reader, writer = await asyncio.open_connection(host, int(port))
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


def _is_ours(place: str) -> bool:
    """Whether this very site listens there, as it does at vLLM's port."""
    return place == f"127.0.0.1:{settings.PORT}"
