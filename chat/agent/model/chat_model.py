"""A model behind an OpenAI-compatible chat-completions endpoint."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

import httpx2
import openai
from jiter import from_json
from openai import AsyncOpenAI, DefaultAioHttpClient

from chat.agent.model.deltas import deltas, error_text
from chat.agent.model.protocol import Delta, Finish, ModelError
from chat.agent.model.sse import sse_data

# Seconds: to connect, and of silence before the first byte or between two.
TIMEOUT = httpx2.Timeout(60, connect=10)

_KINDS = {401: "key_refused", 403: "key_refused", 404: "not_found", 429: "rate_limited"}


class ChatModel:
    """The model `name` at `base_url`; without one, where the `openai` package's environment points.

    `transport` replaces the network, for an endpoint inside this process.
    """

    def __init__(
        self,
        name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self.name = name
        http_client = (
            httpx2.AsyncClient(transport=transport, timeout=TIMEOUT)
            if transport
            else DefaultAioHttpClient(timeout=TIMEOUT, follow_redirects=False, trust_env=False)
        )
        # Endpoints without keys exist; the package only insists that there is one.
        key = api_key if api_key is not None or base_url is None else "none"
        self.client = AsyncOpenAI(base_url=base_url, api_key=key, max_retries=0, http_client=http_client)

    async def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        options: Mapping[str, Any],
    ) -> AsyncIterator[Delta]:
        """The reply as it is written; raises ModelError, also when the stream ends before the reply does."""
        try:
            async for delta in self._stream(self._request(messages, tools, options)):
                yield delta
        except openai.APIStatusError as error:
            raise self._status_error(error) from error
        except (openai.APITimeoutError, httpx2.TimeoutException, TimeoutError) as error:
            raise ModelError("timeout", retryable=True, where=self._where) from error
        except (openai.APIConnectionError, httpx2.TransportError) as error:
            cause = error.__cause__ or error
            detail = str(cause) or type(cause).__name__
            raise ModelError("unreachable", retryable=True, where=self._where, detail=detail) from error

    def _request(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        options: Mapping[str, Any],
    ) -> dict[str, Any]:
        body: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}, **options}
        if tools:
            body["tools"] = list(tools)
        return {"model": self.name, "messages": list(messages), **body}

    async def _stream(self, request: Mapping[str, Any]) -> AsyncIterator[Delta]:
        # The package carries the request; its per-chunk models cost two thirds of a relay's CPU, so the
        # stream is read here.
        create = self.client.chat.completions.with_streaming_response.create
        async with create(**request) as response:
            begun = finished = False
            async for data in sse_data(response.iter_bytes()):
                if data.strip() == "[DONE]":
                    finished = begun
                    break
                for delta in deltas(self._chunk(data)):
                    begun = True
                    finished = finished or isinstance(delta, Finish)
                    yield delta
            if not begun:
                raise self._nothing(response.headers.get("content-type", ""))
            if not finished:
                raise ModelError("cut", retryable=True)

    def _chunk(self, data: str) -> Mapping[str, Any]:
        try:
            chunk = from_json(data.encode())
        except ValueError as error:
            raise ModelError("garbage", where=self._where, detail=str(error)) from error
        if not isinstance(chunk, dict):
            raise ModelError("garbage", where=self._where, detail=data[:80])
        return chunk

    def _nothing(self, content_type: str) -> ModelError:
        if content_type.startswith("text/event-stream"):
            return ModelError("empty", retryable=True, where=self._where)
        return ModelError("garbage", where=self._where, detail=content_type or "no content type")

    def _status_error(self, error: openai.APIStatusError) -> ModelError:
        status = error.status_code
        retryable = status in (408, 409, 429) or status >= 500
        return ModelError(
            _KINDS.get(status, "unavailable" if retryable else "refused"),
            retryable=retryable,
            retry_after=_retry_after(error.response.headers.get("retry-after", "")),
            where=self._where,
            model=self.name,
            status=status,
            detail=_body_text(error),
        )

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
