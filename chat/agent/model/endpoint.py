"""One endpoint: its address, the key that opens it, and the client that asks it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, cast

import httpx2
from openai import AsyncOpenAI, Omit

from chat.agent.model.address import Address
from chat.agent.model.failures import Failures
from chat.agent.model.http import Allow, http_client
from chat.agent.model.traits import OPENAI

NO_KEY = "none"
CONNECT = 10.0  # seconds

# What the package would add of the environment's; it is OpenAI's business alone.
_OF_OPENAI = ("OpenAI-Organization", "OpenAI-Project")


class Endpoint:
    """An endpoint of the chat-completions form; `base` is its address without what else comes along.

    Without `base_url` it is where the environment of the `openai` package points, with the environment's key.
    `silence` are the seconds for which it may say nothing; the rest is as ChatModel has it. Raises ValueError
    for an address, or a proxy's, that is none.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
        timeout: httpx2.Timeout | None = None,
        silence: float = 60.0,
        proxy: str | None = None,
        allow: Allow | None = None,
    ) -> None:
        address = Address.of(base_url or os.environ.get("OPENAI_BASE_URL", "").strip() or OPENAI)
        # The environment's key is for the environment's endpoint. Endpoints without keys exist; only the
        # package insists on one, and an endpoint that does so too says it better.
        key = api_key or (None if base_url else os.environ.get("OPENAI_API_KEY")) or NO_KEY
        timeout = timeout or httpx2.Timeout(silence, connect=CONNECT)
        self.base = address.base
        self._secrets = [key if key != NO_KEY else "", *(headers or {}).values()]
        self.client = AsyncOpenAI(
            base_url=address.base,
            api_key=key,
            default_headers=_headers(address, key, headers or {}),
            default_query=dict(address.query),
            max_retries=0,
            timeout=timeout,
            http_client=http_client(
                timeout, base_url=address.base, transport=transport, proxy=proxy, allow=allow
            ),
        )

    def failures(self, model: str = "") -> Failures:
        """What makes the errors of a model at this endpoint."""
        return Failures(self.base, model, self._secrets)

    async def close(self) -> None:
        """Close the connections to the endpoint."""
        await self.client.close()


def _headers(address: Address, key: str, given: Mapping[str, str]) -> dict[str, str]:
    omitted: dict[str, Any] = {} if address.base == OPENAI else dict.fromkeys(_OF_OPENAI, Omit())
    azure = {"api-key": key} if address.is_azure and key != NO_KEY else {}
    return cast("dict[str, str]", {**omitted, **azure, **given})
