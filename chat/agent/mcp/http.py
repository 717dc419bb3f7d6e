"""MCP over streamable HTTP, with restrictions on addresses and response sizes."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx2
from mcp.client.streamable_http import streamable_http_client

from chat.agent.addresses import refusal
from chat.agent.mcp.server import BURST, PIECE, RATE, Address
from chat.agent.token_bucket import TokenBucket

MAX_RESPONSE = 8 * 1024**2  # bytes
CONNECT_SECONDS = 10.0


@asynccontextmanager
async def http(address: Address, seconds: float) -> AsyncIterator[tuple[Any, Any]]:
    """The streams for the protocol's client; a pause of more than `seconds` in a response ends it."""
    timeout = httpx2.Timeout(CONNECT_SECONDS, read=seconds)
    headers = {**address.headers, "Accept-Encoding": "identity"}
    guard = Guard(inside=address.inside)
    http_client = httpx2.AsyncClient(transport=guard, headers=headers, timeout=timeout, trust_env=False)
    async with http_client as client, streamable_http_client(address.url, http_client=client) as streams:
        yield streams


class Guard(httpx2.AsyncBaseTransport):
    """Connects only to permitted addresses, follows no redirects, and limits the size of responses.

    The name is resolved here and the connection goes to one of the checked addresses, so DNS rebinding cannot
    redirect it.
    """

    def __init__(self, *, inside: bool) -> None:
        self._inside = inside
        self._transport = httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.scheme != "https" and not self._inside:
            raise httpx2.UnsupportedProtocol("it must be reached over https")
        response = await self._send(request, await self._checked(request.url))
        problem = _problem(response)
        if problem:
            await response.aclose()
            raise httpx2.RemoteProtocolError(problem)
        # A GET response is an endless stream of server messages.
        is_endless = request.method == "GET"
        bucket = TokenBucket(BURST, RATE) if is_endless else TokenBucket(MAX_RESPONSE, rate=0)
        body = cast(httpx2.AsyncByteStream, response.stream)
        response.stream = LimitedStream(body, bucket, PIECE if is_endless else 0)
        return response

    async def _checked(self, url: httpx2.URL) -> list[str]:
        port = url.port or (443 if url.scheme == "https" else 80)
        try:
            entries = await asyncio.get_running_loop().getaddrinfo(url.host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            raise httpx2.ConnectError("its name leads to no address") from None
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
        for address in addresses:
            if why := refusal(address, inside=self._inside):
                raise httpx2.ConnectError(f"its address {address} {why}")
        return addresses

    async def _send(self, request: httpx2.Request, addresses: list[str]) -> httpx2.Response:
        name = request.url.host
        for number, address in enumerate(addresses, start=1):
            request.url = request.url.copy_with(host=address)  # the Host header keeps the name
            request.extensions = {**request.extensions, "sni_hostname": name}
            try:
                return await self._transport.handle_async_request(request)
            except httpx2.ConnectError:
                if number == len(addresses):
                    raise
        raise httpx2.ConnectError("its name leads to no address")

    async def aclose(self) -> None:
        await self._transport.aclose()


class LimitedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, bucket: TokenBucket, piece: int) -> None:
        self._stream, self._bucket, self._piece = stream, bucket, piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            if not self._bucket.take(max(len(chunk), self._piece)):
                raise httpx2.StreamError("the answer is larger than is taken in")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def _problem(response: httpx2.Response) -> str:
    if response.has_redirect_location:
        return "it answers with a redirect, and none is followed; enter the address that it leads to"
    if response.status_code in (401, 403):
        return f"it refuses the request (HTTP {response.status_code}); check its headers"
    if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
        return "it compresses its answers, though asked not to"
    return ""
