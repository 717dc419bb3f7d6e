"""An endpoint: its address, its key, and the HTTP client for it."""

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

# Headers that the package sets from the environment; for OpenAI only.
_OPENAI_HEADERS = ("OpenAI-Organization", "OpenAI-Project")


class Endpoint:
    """A chat-completions endpoint; `base` is its address without the query.

    Without `base_url`, address and key come from the `openai` package's environment variables. `silence` is
    the number of seconds that it may send nothing; the other parameters are those of ChatModel. Raises
    ValueError for an invalid address or proxy.
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
        # The environment's key is only for the environment's endpoint. The package requires a key although
        # some endpoints need none; those that do report it better than the package.
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
        return Failures(self.base, model, self._secrets)

    async def close(self) -> None:
        await self.client.close()


def _headers(address: Address, key: str, headers: Mapping[str, str]) -> dict[str, str]:
    omitted: dict[str, Any] = {} if address.base == OPENAI else dict.fromkeys(_OPENAI_HEADERS, Omit())
    azure = {"api-key": key} if address.is_azure and key != NO_KEY else {}
    return cast("dict[str, str]", {**omitted, **azure, **headers})
