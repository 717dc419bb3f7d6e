"""A model behind an OpenAI-compatible chat-completions endpoint."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from email.utils import parsedate_to_datetime
from ipaddress import IPv4Address, IPv6Address
from time import time
from typing import Any

import httpx2
import openai
from openai import AsyncAPIResponse, AsyncOpenAI, DefaultAioHttpClient

from chat.agent.model.faults import error_text
from chat.agent.model.known import known_traits
from chat.agent.model.protocol import Delta, ModelError
from chat.agent.model.reading import read_reply
from chat.agent.model.traits import Traits

# Seconds: to connect, and of silence before the first byte or between two.
TIMEOUT = httpx2.Timeout(60, connect=10)

NO_KEY = "none"
PRIVATE = ("provider", "reasoning_content", "extra")

_KINDS = {401: "key_refused", 403: "key_refused", 404: "not_found", 429: "rate_limited"}

# Options that say how the `openai` package asks, and are no part of the request's body.
_ASKING = ("extra_headers", "extra_query", "timeout")


# Told of traits that an endpoint's errors taught: {"drop_params": ["temperature"]}.
OnLearn = Callable[[Mapping[str, Any]], None]
# Whether an address may be connected to.
Allow = Callable[[IPv4Address | IPv6Address], bool]


class ChatModel:
    """The model `name` at `base_url`; without one, where the `openai` package's environment points.

    `transport` replaces the network, for an endpoint inside this process; `timeout` holds the seconds to
    connect and of silence. `headers` go along with every request. `traits` say how the model is asked, by
    default as its name and its host are known; what its errors teach is used from then on, and told to
    `on_learn`, on the event loop's thread. `proxy` is the address of an HTTP proxy; `allow` is asked about
    each address ahead of connecting to it. Holds connections open until it is closed.
    """

    def __init__(
        self,
        name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
        timeout: httpx2.Timeout = TIMEOUT,
        headers: Mapping[str, str] | None = None,
        traits: Traits | None = None,
        on_learn: OnLearn | None = None,
        proxy: str | None = None,
        allow: Allow | None = None,
    ) -> None:
        self.name = name
        self.traits = traits or known_traits(base_url or "", name)
        self.on_learn = on_learn
        http_client = (
            httpx2.AsyncClient(transport=transport, timeout=timeout)
            if transport
            else DefaultAioHttpClient(timeout=timeout, follow_redirects=False, trust_env=False)
        )
        if api_key is None:
            # The environment's key is for the environment's endpoint. Endpoints without keys exist; only the
            # package insists on one, and an endpoint that does so too says it better.
            api_key = (os.environ.get("OPENAI_API_KEY") if base_url is None else None) or NO_KEY
        self.client = AsyncOpenAI(
            base_url=base_url,
            api_key=api_key,
            default_headers=headers,
            max_retries=0,
            timeout=timeout,
            http_client=http_client,
        )

    async def close(self) -> None:
        """Close the connections to the endpoint."""
        await self.client.close()

    async def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        options: Mapping[str, Any],
    ) -> AsyncIterator[Delta]:
        """The reply as it is written; raises ModelError, also when the stream ends before the reply does."""
        try:
            async with aclosing(self._stream(self._request(messages, tools, options))) as found:
                async for delta in found:
                    yield delta
        except ModelError as error:
            error.values.setdefault("where", self._where)
            error.values["detail"] = self._hidden(str(error.values.get("detail", "")))
            raise
        except openai.APIStatusError as error:
            raise self._status_error(error) from error
        except (openai.APIConnectionError, httpx2.TransportError) as error:
            raise self._connection_error(error) from error

    def _request(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        options: Mapping[str, Any],
    ) -> dict[str, Any]:
        asking = {name: options[name] for name in _ASKING if name in options}
        # By way of the extra body any option passes through, also those that the package does not know.
        body = {"stream_options": {"include_usage": True}, **options, **options.get("extra_body", {})}
        for name in (*_ASKING, "extra_body", "stream"):
            body.pop(name, None)
        if tools:
            body["tools"] = list(tools)
        return {
            "model": self.name,
            "messages": [
                {name: value for name, value in message.items() if name not in PRIVATE}
                for message in messages
            ],
            "stream": True,
            "extra_body": body,
            **asking,
        }

    async def _stream(self, request: Mapping[str, Any]) -> AsyncGenerator[Delta, None]:
        # The package carries the request; its per-chunk models cost two thirds of a relay's CPU, so the
        # stream is read here.
        create = self.client.chat.completions.with_streaming_response.create
        async with create(**request) as response, aclosing(read_reply(self._body(response))) as found:
            async for delta in found:
                yield delta

    async def _body(self, response: AsyncAPIResponse[Any]) -> AsyncIterator[bytes]:
        try:
            async for piece in response.iter_bytes():
                yield piece
        except httpx2.ReadTimeout:
            raise
        except httpx2.TransportError as error:
            raise self._error("cut", retryable=True) from error

    def _status_error(self, error: openai.APIStatusError) -> ModelError:
        status = error.status_code
        retryable = status in (408, 409, 429) or status >= 500
        return self._error(
            _KINDS.get(status, "unavailable" if retryable else "refused"),
            _body_text(error),
            retryable=retryable,
            retry_after=_retry_after(error.response.headers.get("retry-after", "")),
            model=self.name,
            status=status,
        )

    def _connection_error(self, error: Exception) -> ModelError:
        cause = (error.__cause__ if isinstance(error, openai.APIConnectionError) else None) or error
        # A connection that is refused comes out of the package as a ConnectTimeout, too.
        if isinstance(cause, httpx2.TimeoutException) and not isinstance(cause, httpx2.ConnectTimeout):
            return self._error("timeout", retryable=True)
        return self._error("unreachable", str(cause) or type(cause).__name__, retryable=True)

    def _error(self, kind: str, detail: str = "", **values: Any) -> ModelError:
        return ModelError(kind, where=self._where, detail=self._hidden(detail), **values)

    def _hidden(self, detail: str) -> str:
        # Some endpoints repeat the key that they refuse, and this is shown and stored.
        key = self.client.api_key
        return detail.replace(key, "***") if key and key != NO_KEY else detail

    @property
    def _where(self) -> str:
        return str(self.client.base_url).rstrip("/")


def _body_text(error: openai.APIStatusError) -> str:
    body = error.body
    if isinstance(body, str) and body.lstrip().startswith("<"):
        return ""
    try:
        return error_text(json.loads(body) if isinstance(body, str) else body) if body else ""
    except ValueError:
        return error_text(body)


def _retry_after(header: str) -> float | None:
    """Seconds that a Retry-After header asks for, given as a number or as a date."""
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time())
    except (TypeError, ValueError):
        return None
