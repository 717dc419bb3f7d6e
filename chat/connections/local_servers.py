"""Model servers on this machine: found at the start and on request, offered to staff."""

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
    """A server that answered at `address` (host:port), with its model names."""

    address: str
    models: tuple[str, ...]

    @property
    def name(self) -> str:
        """The usual server at that port; empty if there is none."""
        return NAMES.get(int(self.address.rpartition(":")[2]), "")

    @property
    def base_url(self) -> str:
        return f"http://{self.address}/v1"


_servers: list[LocalServer] = []


def known_servers() -> list[LocalServer]:
    """The servers that answered this process's latest scan."""
    return list(_servers)


async def scan() -> list[LocalServer]:
    """Ask the usual addresses, concurrently, for a few seconds at most."""
    places = [address for address in settings.LOCAL_SERVERS if not _is_ours(address)]
    answers = await asyncio.gather(*map(_probe, places))
    _servers[:] = [server for server in answers if server]
    return known_servers()


async def _probe(address: str) -> LocalServer | None:
    if not await _listens(address):  # avoids the client and its slow import if nothing listens
        return None
    await asyncio.to_thread(__import__, "chat.agent.model.listing")
    endpoint = Endpoint(None, base_url=LocalServer(address, ()).base_url, inside=True)
    try:
        async with asyncio.timeout(LIST_SECONDS):
            listed = await list_models(endpoint, with_key=False)
    except (ModelError, TimeoutError):
        return None
    models = conversational([model.name for model in listed])
    return LocalServer(address, tuple(models)) if models else None


async def _listens(address: str) -> bool:
    host, _colon, port = address.rpartition(":")
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _reader, writer = await asyncio.open_connection(host, int(port))
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


def _is_ours(address: str) -> bool:
    """Whether this site itself listens there, as it does at vLLM's port."""
    return address == f"127.0.0.1:{settings.PORT}"
