"""A model behind an OpenAI-compatible chat-completions endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from typing import Any, TypeVar

import httpx2
import openai
from openai import AsyncAPIResponse

from chat.agent.model.adaptation import TraitsAdapter
from chat.agent.model.endpoint import Endpoint
from chat.agent.model.http import Allow
from chat.agent.model.protocol import Delta, ModelError
from chat.agent.model.request_builder import RequestBuilder
from chat.agent.model.response import read_reply
from chat.agent.model.traits import Traits, known_traits

# Options of the `openai` package's call that are not part of the request's body.
_CALL_OPTIONS = ("extra_headers", "extra_query", "timeout")

# Called with trait changes learned from an endpoint's errors: {"drop_params": ["temperature"]}.
OnLearn = Callable[[Mapping[str, Any]], None]

T = TypeVar("T")


class ChatModel:
    """The model `name` at `base_url`, by default that of the `openai` package's environment.

    `transport` replaces the network, for an endpoint in this process; `timeout` has the seconds to connect
    and of silence, by default those of the traits. `headers` are sent with every request. `traits` control
    how requests are built, by default those known for the name and host; changes learned from errors apply
    from then on, and `on_learn` is called with them on the event loop's thread, where it must not block.
    `proxy` is the address of an HTTP proxy; `allow` is called with each address before connecting. Keeps
    connections open until closed. Raises ValueError for an invalid address.
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
            silence=max(self.traits.first_byte_timeout, self.traits.silence),
            proxy=proxy,
            allow=allow,
        )
        self._failures = self._endpoint.failures(name)

    @property
    def endpoint(self) -> str:
        """The address without a query; also recorded in messages as their provider."""
        return self._endpoint.base

    async def close(self) -> None:
        await self._endpoint.close()

    async def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        options: Mapping[str, Any],
    ) -> AsyncIterator[Delta]:
        """Stream the reply; raises ModelError, also if the stream ends before the reply does.

        A request that is rejected for its form is adapted and sent again at once.
        """
        adapter = TraitsAdapter(self.traits)
        while True:
            builder = RequestBuilder(self.name, self.endpoint, adapter.traits)
            body = builder.body(messages, tools, _body_options(options))
            begun = False
            try:
                async with aclosing(self._reply(body, _call_options(options))) as deltas:
                    async for delta in deltas:
                        if not begun:
                            begun = True
                            self._apply_changes(adapter.changes)
                        yield builder.read(delta)
                return
            except ModelError as error:
                if begun or not adapter.learn(error, body):
                    self._apply_changes(adapter.learn_from_final_error(error))
                    raise

    def _apply_changes(self, changes: Mapping[str, Any]) -> None:
        if changes:
            self.traits = self.traits.but(changes)
            if self.on_learn:
                self.on_learn(dict(changes))

    async def _reply(
        self, body: Mapping[str, Any], call_options: Mapping[str, Any]
    ) -> AsyncGenerator[Delta, None]:
        try:
            async with aclosing(self._stream(body, call_options)) as deltas:
                async for delta in deltas:
                    yield delta
        except ModelError as error:
            raise self._failures.read(error) from error
        except openai.APIStatusError as error:
            raise self._failures.status(error) from error
        except (openai.APIConnectionError, httpx2.TransportError) as error:
            raise self._failures.connection(error) from error

    async def _stream(
        self, body: Mapping[str, Any], call_options: Mapping[str, Any]
    ) -> AsyncGenerator[Delta, None]:
        # The package carries the request; its per-chunk models cost two thirds of a relay's CPU, so the
        # stream is read here. The extra body passes any option, also those unknown to the package.
        create = self._endpoint.client.chat.completions.with_streaming_response.create
        needed = {name: body[name] for name in ("model", "messages", "stream")}
        further = {name: value for name, value in body.items() if name not in needed}
        own_timeout = self._timeout or call_options.get("timeout")
        silence_timeout = (
            SilenceTimeout(None, None)
            if own_timeout
            else SilenceTimeout(self.traits.first_byte_timeout, self.traits.silence)
        )
        async with AsyncExitStack() as stack:
            request = create(**needed, extra_body=further, **call_options)
            response = await silence_timeout.within(stack.enter_async_context(request))
            deltas = await stack.enter_async_context(
                aclosing(read_reply(self._bytes(response, silence_timeout)))
            )
            async for delta in deltas:
                silence_timeout.begun = True
                yield delta

    async def _bytes(
        self, response: AsyncAPIResponse[Any], silence_timeout: SilenceTimeout
    ) -> AsyncGenerator[bytes, None]:
        pieces = response.iter_bytes()
        try:
            while (piece := await silence_timeout.within(anext(pieces, None))) is not None:
                yield piece
        except httpx2.ReadTimeout:
            raise
        except httpx2.TransportError as error:
            raise self._failures.broken(error) from error


class SilenceTimeout:
    """Limits the silence before and within a reply; any byte, also of a comment, ends it."""

    def __init__(self, first: float | None, further: float | None) -> None:
        self.begun = False
        self._before_reply, self._within_reply = first, further

    async def within(self, work: Awaitable[T]) -> T:
        """Await `work`; raises ModelError "timeout" if it takes too long."""
        try:
            async with asyncio.timeout(self._within_reply if self.begun else self._before_reply) as limit:
                return await work
        except TimeoutError:
            if limit.expired():
                raise ModelError("timeout", retryable=True) from None
            raise


def _call_options(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in _CALL_OPTIONS if name in options}


def _body_options(options: Mapping[str, Any]) -> dict[str, Any]:
    body = {**options, **(options.get("extra_body") or {})}
    return {name: value for name, value in body.items() if name not in (*_CALL_OPTIONS, "extra_body")}
