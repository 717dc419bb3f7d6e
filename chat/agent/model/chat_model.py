"""A model behind an OpenAI-compatible chat-completions endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from typing import Any, TypeVar

import httpx2
import openai
from openai import AsyncAPIResponse

from chat.agent.model.adaptation import Adaptation
from chat.agent.model.endpoint import Endpoint
from chat.agent.model.http import Allow
from chat.agent.model.protocol import Delta, ModelError
from chat.agent.model.request_builder import RequestBuilder
from chat.agent.model.response import read_reply
from chat.agent.model.traits import Traits, known_traits

# Options that say how the `openai` package asks, and are no part of the request's body.
_ASKING = ("extra_headers", "extra_query", "timeout")

# Told of traits that an endpoint's errors taught: {"drop_params": ["temperature"]}.
OnLearn = Callable[[Mapping[str, Any]], None]

T = TypeVar("T")


class ChatModel:
    """The model `name` at `base_url`; without one, where the `openai` package's environment points.

    `transport` replaces the network, for an endpoint inside this process; `timeout` holds the seconds to
    connect and of silence, by default those of the traits. `headers` go along with every request. `traits`
    say how the model is asked, by default as its name and its host are known; what its errors teach is used
    from then on, and told to `on_learn`, on the event loop's thread, which must not wait in it. `proxy` is
    the address of an HTTP proxy; `allow` is asked about each address ahead of connecting to it. Holds
    connections open until it is closed. Raises ValueError for an address that is none.
    """

    def __init__(
        self,
        name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
        timeout: httpx2.Timeout | None = None,
        headers: Mapping[str, str] | None = None,
        traits: Traits | None = None,
        on_learn: OnLearn | None = None,
        proxy: str | None = None,
        allow: Allow | None = None,
    ) -> None:
        self.name = name
        self.traits = traits or known_traits(base_url, name)
        self.on_learn = on_learn
        self._timeout = timeout
        self._endpoint = Endpoint(
            base_url,
            api_key,
            headers=headers,
            transport=transport,
            timeout=timeout,
            silence=max(self.traits.patience, self.traits.silence),
            proxy=proxy,
            allow=allow,
        )
        self._failures = self._endpoint.failures(name)

    @property
    def endpoint(self) -> str:
        """Where the model is asked: the address without a query. Messages keep it as their provider."""
        return self._endpoint.base

    async def close(self) -> None:
        """Close the connections to the endpoint."""
        await self._endpoint.close()

    async def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        options: Mapping[str, Any],
    ) -> AsyncIterator[Delta]:
        """The reply as it is written; raises ModelError, also when the stream ends before the reply does.

        A request that is refused for its form is made to fit and sent again at once.
        """
        lessons = Adaptation(self.traits)
        while True:
            builder = RequestBuilder(self.name, self.endpoint, lessons.traits)
            body = builder.body(messages, tools, _in_body(options))
            begun = False
            try:
                async with aclosing(self._reply(body, _asking(options))) as found:
                    async for delta in found:
                        if not begun:
                            begun = True
                            self._remember(lessons.changes)
                        yield builder.read(delta)
                return
            except ModelError as error:
                if begun or not lessons.learn(error, body):
                    self._remember(lessons.conclude(error))
                    raise

    def _remember(self, changes: Mapping[str, Any]) -> None:
        if changes:
            self.traits = self.traits.but(changes)
            if self.on_learn:
                self.on_learn(dict(changes))

    async def _reply(self, body: Mapping[str, Any], asking: Mapping[str, Any]) -> AsyncGenerator[Delta, None]:
        """The deltas of one request; all that goes wrong is a ModelError."""
        try:
            async with aclosing(self._stream(body, asking)) as found:
                async for delta in found:
                    yield delta
        except ModelError as error:
            raise self._failures.read(error) from error
        except openai.APIStatusError as error:
            raise self._failures.status(error) from error
        except (openai.APIConnectionError, httpx2.TransportError) as error:
            raise self._failures.connection(error) from error

    async def _stream(
        self, body: Mapping[str, Any], asking: Mapping[str, Any]
    ) -> AsyncGenerator[Delta, None]:
        # The package carries the request; its per-chunk models cost two thirds of a relay's CPU, so the
        # stream is read here. By way of the extra body any option passes, also those that it does not know.
        create = self._endpoint.client.chat.completions.with_streaming_response.create
        needed = {name: body[name] for name in ("model", "messages", "stream")}
        further = {name: value for name, value in body.items() if name not in needed}
        own_timeout = self._timeout or asking.get("timeout")
        patience = (
            Patience(None, None) if own_timeout else Patience(self.traits.patience, self.traits.silence)
        )
        async with AsyncExitStack() as stack:
            request = create(**needed, extra_body=further, **asking)
            response = await patience.within(stack.enter_async_context(request))
            found = await stack.enter_async_context(aclosing(read_reply(self._bytes(response, patience))))
            async for delta in found:
                patience.begun = True
                yield delta

    async def _bytes(
        self, response: AsyncAPIResponse[Any], patience: Patience
    ) -> AsyncGenerator[bytes, None]:
        pieces = response.iter_bytes()
        try:
            while (piece := await patience.within(anext(pieces, None))) is not None:
                yield piece
        except httpx2.ReadTimeout:
            raise
        except httpx2.TransportError as error:
            raise self._failures.broken(error) from error


class Patience:
    """How long one reply is waited for: ahead of its first delta, and then between its bytes.

    Whatever comes, comments included, shows that the endpoint is still there.
    """

    def __init__(self, first: float | None, further: float | None) -> None:
        self.begun = False
        self._first, self._further = first, further

    async def within(self, work: Awaitable[T]) -> T:
        """Await the work; raises ModelError "timeout" when that takes too long."""
        try:
            async with asyncio.timeout(self._further if self.begun else self._first) as limit:
                return await work
        except TimeoutError:
            if limit.expired():
                raise ModelError("timeout", retryable=True) from None
            raise


def _asking(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in _ASKING if name in options}


def _in_body(options: Mapping[str, Any]) -> dict[str, Any]:
    body = {**options, **(options.get("extra_body") or {})}
    return {name: value for name, value in body.items() if name not in (*_ASKING, "extra_body")}
