"""The HTTP client for endpoints: restricts where it connects and how much it reads."""

from __future__ import annotations

import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, cast
from urllib.parse import urlsplit

import aiohttp
import httpx2

# Whether an address may be connected to.
Allow = Callable[[IPv4Address | IPv6Address], bool]

# Bytes of one streamed reply. A token takes a chunk of a few hundred, so this is far beyond MAX_REPLY.
MAX_RESPONSE = 128 * 1024**2
# Bytes of an error's body that are read, and for how many seconds.
ERROR_BODY = 64 * 1024
ERROR_SECONDS = 10.0

_CHUNK = 16 * 1024  # bytes read at a time
KEEP_ALIVE = 15.0  # seconds that idle connections are kept


class AddressRefusedError(OSError):
    pass


class CompressedError(httpx2.RemoteProtocolError):
    pass


class OversizeError(httpx2.RemoteProtocolError):
    pass


def http_client(
    timeout: httpx2.Timeout,
    *,
    base_url: str = "",
    transport: httpx2.AsyncBaseTransport | None = None,
    proxy: str | None = None,
    allow: Allow | None = None,
) -> httpx2.AsyncClient:
    """A client that follows no redirects, ignores the environment and limits the size of responses.

    `transport` replaces the network. `proxy` is not used for this machine, nor together with `allow`: the
    addresses that a proxy connects to cannot be checked here. Raises ValueError for an invalid proxy.
    """
    usable_proxy = proxy if allow is None and not _is_loopback(base_url) else None
    inner = transport or AiohttpTransport(usable_proxy, allow)
    headers = {"Accept-Encoding": "identity"}
    return httpx2.AsyncClient(
        transport=LimitedTransport(inner),
        timeout=timeout,
        headers=headers,
        trust_env=False,
        follow_redirects=False,
    )


class LimitedTransport(httpx2.AsyncBaseTransport):
    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        stream = cast(httpx2.AsyncByteStream, response.stream)
        if response.headers.get("content-encoding", "identity").strip().lower() not in ("identity", ""):
            await response.aclose()
            if response.is_success:
                raise CompressedError("the reply is compressed", request=request)
            del response.headers["content-encoding"]
            stream = httpx2.ByteStream(b"")
        response.stream = LimitedBody(stream) if response.is_success else TruncatedBody(stream)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class LimitedBody(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_RESPONSE
        async for chunk in self._stream:
            left -= len(chunk)
            if left < 0:
                raise OversizeError("the reply is too large")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class TruncatedBody(httpx2.AsyncByteStream):
    """The first ERROR_BODY bytes of a body, as far as they arrive within ERROR_SECONDS."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left, ends_at = ERROR_BODY, time.monotonic() + ERROR_SECONDS
        async for chunk in self._stream:
            yield chunk[:left]
            left -= len(chunk)
            if left <= 0 or time.monotonic() > ends_at:
                return

    async def aclose(self) -> None:
        await self._stream.aclose()


# The first that matches an error of aiohttp.
_ERRORS: tuple[tuple[type[Exception], type[httpx2.TransportError]], ...] = (
    (aiohttp.ConnectionTimeoutError, httpx2.ConnectTimeout),
    (aiohttp.SocketTimeoutError, httpx2.ReadTimeout),
    (aiohttp.ServerTimeoutError, httpx2.TimeoutException),
    (aiohttp.ClientProxyConnectionError, httpx2.ProxyError),
    (aiohttp.ClientHttpProxyError, httpx2.ProxyError),
    (aiohttp.ClientConnectorError, httpx2.ConnectError),
    (aiohttp.ClientConnectionError, httpx2.ReadError),
    (aiohttp.ClientPayloadError, httpx2.ReadError),
    (aiohttp.InvalidURL, httpx2.UnsupportedProtocol),
)


@contextmanager
def _httpx_errors() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        kind = next((kind for cause, kind in _ERRORS if isinstance(error, cause)), None)
        if kind is None:
            raise
        raise kind(str(error)) from error


class AiohttpTransport(httpx2.AsyncBaseTransport):
    """The network through aiohttp, which costs half of the CPU of httpx2's own transport.

    The package's `DefaultAioHttpClient` does the same, but does not allow restricting addresses.
    """

    def __init__(self, proxy: str | None = None, allow: Allow | None = None) -> None:
        self._proxy = _checked_proxy(proxy)
        self._ssl_context = httpx2.create_ssl_context(trust_env=False)
        self._sockets = _checked_sockets(allow) if allow else None
        self._session: aiohttp.ClientSession | None = None  # belongs to the loop of the first request

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self._session = self._session or self._new_session()
        content = await request.aread()
        timeout = request.extensions.get("timeout", {})
        with _httpx_errors():
            response = await self._session.request(
                request.method,
                str(request.url),
                headers=request.headers,
                data=content or None,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(
                    total=None,
                    connect=timeout.get("pool"),
                    sock_connect=timeout.get("connect"),
                    sock_read=timeout.get("read"),
                ),
                proxy=self._proxy,
            )
        extensions = {"http_version": b"HTTP/1.1", "reason_phrase": (response.reason or "").encode()}
        return httpx2.Response(
            response.status,
            headers=response.raw_headers,
            stream=AiohttpBody(response),
            request=request,
            extensions=extensions,
        )

    def _new_session(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            ssl=self._ssl_context, limit=0, keepalive_timeout=KEEP_ALIVE, socket_factory=self._sockets
        )
        return aiohttp.ClientSession(
            connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False
        )

    async def aclose(self) -> None:
        if self._session:
            await self._session.close()


class AiohttpBody(httpx2.AsyncByteStream):
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _httpx_errors():
            async for chunk in self._response.content.iter_chunked(_CHUNK):
                yield chunk

    async def aclose(self) -> None:
        self._response.release()
        await self._response.wait_for_close()


def _checked_sockets(allow: Allow) -> Callable[[Any], socket.socket]:
    """Checks the address right before connecting, after name resolution, so that DNS rebinding cannot
    redirect the connection.
    """

    def create(info: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, _name, address = info
        if not allow(ip_address(address[0].partition("%")[0])):
            raise AddressRefusedError("the address is not allowed")
        return socket.socket(family, kind, protocol)

    return create


def _checked_proxy(url: str | None) -> str | None:
    if url and urlsplit(url).scheme not in ("http", "https"):
        raise ValueError("the proxy's address must begin with http:// or https://")
    return url or None


def _is_loopback(base_url: str) -> bool:
    host = urlsplit(base_url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
