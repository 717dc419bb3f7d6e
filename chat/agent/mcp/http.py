"""The protocol's messages over streamable HTTP, with a guard on where they go and how much comes back."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx2
from mcp.client.streamable_http import streamable_http_client

from chat.agent.addresses import refusal
from chat.agent.mcp.server import Address, Allowance

RESPONSE = 8 * 1024**2
"""Bytes of one answer."""
CONNECT_SECONDS = 10.0


@asynccontextmanager
async def http(address: Address, seconds: float) -> AsyncIterator[tuple[Any, Any]]:
    """The streams that the protocol's client takes; a pause of more than `seconds` in an answer ends it."""
    timeout = httpx2.Timeout(CONNECT_SECONDS, read=seconds)
    headers = {**address.headers, "Accept-Encoding": "identity"}
    guard = Guard(inside=address.inside)
    made = httpx2.AsyncClient(transport=guard, headers=headers, timeout=timeout, trust_env=False)
    async with made as client, streamable_http_client(address.url, http_client=client) as streams:
        yield streams


class Guard(httpx2.AsyncBaseTransport):
    """Connects to checked addresses alone, follows nobody elsewhere, and takes in so much and no more.

    The name is resolved here, each of its addresses is checked, and the connection goes to one of the
    checked: a name that leads elsewhere a moment later leads nobody there.
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
        # What is asked for with GET has no end of its own: the server speaks there when it likes.
        allowance = Allowance() if request.method == "GET" else Allowance(RESPONSE, rate=0, piece=0)
        response.stream = Bounded(cast(httpx2.AsyncByteStream, response.stream), allowance)
        return response

    async def _checked(self, url: httpx2.URL) -> list[str]:
        port = url.port or (443 if url.scheme == "https" else 80)
        try:
            found = await asyncio.get_running_loop().getaddrinfo(url.host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            raise httpx2.ConnectError("its name leads to no address") from None
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        for address in addresses:
            if why := refusal(address, inside=self._inside):
                raise httpx2.ConnectError(f"its address {address} {why}")
        return addresses

    async def _send(self, request: httpx2.Request, addresses: list[str]) -> httpx2.Response:
        name = request.url.host
        for place, address in enumerate(addresses, start=1):
            request.url = request.url.copy_with(host=address)  # the Host header keeps the name
            request.extensions = {**request.extensions, "sni_hostname": name}
            try:
                return await self._transport.handle_async_request(request)
            except httpx2.ConnectError:
                if place == len(addresses):
                    raise
        raise httpx2.ConnectError("its name leads to no address")

    async def aclose(self) -> None:
        await self._transport.aclose()


class Bounded(httpx2.AsyncByteStream):
    """A response's body, torn off where it has more than it may."""

    def __init__(self, stream: httpx2.AsyncByteStream, allowance: Allowance) -> None:
        self._stream, self._allowance = stream, allowance

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            if not self._allowance.spend(len(chunk)):
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
