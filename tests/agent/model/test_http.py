"""The HTTP client: where it connects, what it sends, and how much it reads."""

from __future__ import annotations

import gzip
import resource
import socket
import zlib
from ipaddress import ip_address
from typing import Any

import httpx2
import pytest

from chat.agent.events import Text
from chat.agent.model import ModelError
from chat.agent.model import http as http_module
from chat.agent.model.chat_model import ChatModel
from chat.agent.model.http import ERROR_BODY, LimitedBody, TruncatedBody
from tests.agent.model.raw_server import HELLO, Exchange, raw_server, response

USER = [{"role": "user", "content": "hello"}]
MIB = 1024 * 1024


async def said(base_url: str, key: str | None = "sk-secret", **given: Any) -> str:
    model = ChatModel("m", base_url, key, **given)
    try:
        deltas = [delta async for delta in model.stream(USER, (), {})]
    finally:
        await model.close()
    return "".join(delta.text for delta in deltas if isinstance(delta, Text))


async def failure(base_url: str, **given: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await said(base_url, **given)
    return caught.value


async def test_headers_of_ones_own_go_along_and_compression_is_declined() -> None:
    async with raw_server(response()) as server:
        assert await said(server.base_url, headers={"X-Team": "blue"}) == "Hello"
        headers = server.exchanges[0].headers
    assert headers["x-team"] == "blue"
    assert headers["authorization"] == "Bearer sk-secret"
    assert headers["accept-encoding"] == "identity"


async def test_what_is_openais_own_business_goes_to_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-secret")
    async with raw_server(response()) as server:
        await said(server.base_url)
        assert "secret" not in server.exchanges[0].head.replace("sk-secret", "")


async def test_azure_finds_the_key_where_it_looks_for_it() -> None:
    async with raw_server(response()) as proxy:
        await said("http://x.openai.azure.com", proxy=f"http://127.0.0.1:{proxy.port}")
        exchange = proxy.exchanges[0]
    assert exchange.line == "POST http://x.openai.azure.com/openai/v1/chat/completions HTTP/1.1"
    assert exchange.headers["api-key"] == "sk-secret"


async def test_a_header_of_ones_own_is_a_secret_too() -> None:
    body = b'{"error": {"message": "token t0ken-9 is bad"}}'
    async with raw_server(response(body, "400 Bad", content_type="application/json")) as server:
        error = await failure(server.base_url, headers={"X-Token": "t0ken-9"})
    assert error.values["detail"] == "token *** is bad"
    assert "t0ken-9" not in str(error)


async def test_a_query_in_the_address_goes_along() -> None:
    async with raw_server(response()) as server:
        assert (
            await said(f"http://127.0.0.1:{server.port}/openai/deployments/d/?api-version=2024-10-21")
            == "Hello"
        )
        line = server.exchanges[0].line
    assert line == "POST /openai/deployments/d/chat/completions?api-version=2024-10-21 HTTP/1.1"


async def test_an_address_without_a_path_is_asked_where_the_api_usually_is() -> None:
    async with raw_server(response()) as server:
        await said(f"http://127.0.0.1:{server.port}")
        assert server.exchanges[0].line == "POST /v1/chat/completions HTTP/1.1"


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"])
async def test_a_redirect_is_told_and_not_followed(status: str) -> None:
    async with raw_server(response()) as other:
        place = f"http://user:secret@127.0.0.1:{other.port}/v2/chat?token=secret"
        async with raw_server(response(b"", status, location=place)) as server:
            error = await failure(server.base_url)
        assert other.exchanges == []
    assert (error.kind, error.retryable) == ("redirected", False)
    assert error.values["detail"] == f"http://127.0.0.1:{other.port}/v2/chat"


async def test_the_environments_proxy_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with raw_server(response(b"", "502 Proxy")) as proxy, raw_server(response()) as server:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert await said(server.base_url) == "Hello"
        assert proxy.exchanges == []


async def test_a_proxy_that_was_configured_is_used_but_not_for_this_machine() -> None:
    async with raw_server(response()) as proxy:
        address = f"http://127.0.0.1:{proxy.port}"
        assert await said("http://model.example/v1", proxy=address) == "Hello"
        assert proxy.exchanges[0].line == "POST http://model.example/v1/chat/completions HTTP/1.1"
        async with raw_server(response()) as server:
            await said(server.base_url, proxy=address)
            assert len(server.exchanges) == 1
        assert len(proxy.exchanges) == 1


async def test_a_connection_with_a_policy_goes_past_the_proxy() -> None:
    """The addresses that a proxy connects to cannot be checked."""
    async with raw_server(response()) as proxy:
        error = await failure(
            "http://model.invalid/v1", proxy=f"http://127.0.0.1:{proxy.port}", allow=lambda _address: True
        )
        assert proxy.exchanges == []
    assert error.kind == "unreachable"


def test_a_proxy_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="http:// or https://"):
        ChatModel("m", "http://model.example/v1", proxy="socks5://127.0.0.1:1080")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0x7f000001"])
async def test_the_address_that_is_connected_to_is_what_is_judged(host: str) -> None:
    async with raw_server(response()) as server:
        seen = []

        def allow(address: Any) -> bool:
            seen.append(address)
            return not address.is_loopback

        error = await failure(f"http://{host}:{server.port}/v1", allow=allow)
        assert server.exchanges == []
    assert (error.kind, error.retryable) == ("address_refused", False)
    assert ip_address("127.0.0.1") in seen


@pytest.mark.parametrize("host", ["2130706433", "127.1", "0"])
async def test_no_spelling_of_an_address_gets_past(host: str) -> None:
    async with raw_server(response()) as server:
        error = await failure(f"http://{host}:{server.port}/v1", allow=lambda address: address.is_global)
        assert server.exchanges == []
    assert error.kind in ("address_refused", "unreachable")


async def test_a_name_that_leads_elsewhere_a_moment_later_leads_nobody_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The name first resolves to a public address, then to this machine."""
    looks: list[str] = []
    real = socket.getaddrinfo

    def rebound(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        if host != "rebound.example":
            return real(host, port, *rest, **more)
        looks.append(host)
        address = "203.0.113.7" if len(looks) == 1 else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", rebound)
    judged: list[str] = []

    def allow(address: Any) -> bool:
        judged.append(str(address))
        return False

    async with raw_server(response()) as server:
        assert (
            await failure(f"http://rebound.example:{server.port}/v1", allow=allow)
        ).kind == "address_refused"
        assert (
            await failure(f"http://rebound.example:{server.port}/v1", allow=allow)
        ).kind == "address_refused"
        assert server.exchanges == []
    assert judged == ["203.0.113.7", "127.0.0.1"]


async def test_one_that_is_allowed_is_asked() -> None:
    async with raw_server(response()) as server:
        assert await said(server.base_url, allow=lambda address: address.is_loopback) == "Hello"


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "GZIP", "br", "gzip, identity"])
async def test_a_compressed_reply_is_refused(encoding: str) -> None:
    packed = gzip.compress(HELLO) if "gz" in encoding.lower() else zlib.compress(HELLO)
    async with raw_server(response(packed, content_encoding=encoding)) as server:
        error = await failure(server.base_url)
    assert (error.kind, error.retryable) == ("compressed", False)


@pytest.mark.parametrize("status", ["200 OK", "400 Bad Request", "500 Broken"])
async def test_a_bomb_does_not_go_off(status: str) -> None:
    """256 MiB compressed to a quarter of a MiB."""
    zeros, packer = bytes(MIB), zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(packer.compress(zeros) for _ in range(256)) + packer.flush()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with raw_server(response(bomb, status, content_encoding="gzip")) as server:
        await failure(server.base_url)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < 64


async def test_an_error_is_told_also_when_its_body_has_no_end() -> None:
    async def endless(exchange: Exchange) -> None:
        head = b"HTTP/1.1 400 Bad\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n"
        await exchange.write(head, b"Too long: ")
        while True:
            await exchange.write(b"x" * 1024)

    async with raw_server(endless) as server:
        error = await failure(server.base_url)
    assert error.kind == "refused"
    assert error.values["detail"].startswith("Too long: xxx")


class Pieces(httpx2.AsyncByteStream):
    def __init__(self, *sizes: int) -> None:
        self.sizes = sizes

    async def __aiter__(self) -> Any:
        for size in self.sizes:
            yield b"x" * size


async def test_of_an_error_the_beginning_is_read() -> None:
    read = [len(piece) async for piece in TruncatedBody(Pieces(ERROR_BODY - 1, 5, 5))]
    assert read == [ERROR_BODY - 1, 1]


async def test_a_reply_beyond_all_measure_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_module, "MAX_RESPONSE", 1000)
    with pytest.raises(httpx2.RemoteProtocolError):
        [piece async for piece in LimitedBody(Pieces(900, 101))]
    comments = b": ping\n\n" * 200
    async with raw_server(response(comments + HELLO)) as server:
        assert (await failure(server.base_url)).kind == "endless"
