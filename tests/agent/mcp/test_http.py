"""Servers over HTTP: permitted addresses and response sizes."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from chat.agent.mcp import Address, Server, ServerError
from chat.agent.mcp.connection import Connection
from tests.agent.mcp.conftest import Connect
from tests.agent.mcp.http_server import HttpServer, http_server
from tests.agent.mcp.waiting import until


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with http_server() as made:
        yield made


async def echo(connection: Connection, text: str) -> str:
    assert connection.tools, connection.fault
    return await connection.call(connection.tools["echo"], {"text": text})


@pytest.mark.parametrize("path", ["well", "sse"])
async def test_lists_and_answers(server: HttpServer, connect: Connect, path: str) -> None:
    address = Address(server.url(path), {"Authorization": "Bearer ${HOME}"}, inside=True)
    connection = await connect(Server("mine", address))
    assert await echo(connection, "hello") == "hello"
    assert {headers["Authorization"] for _path, headers, _asked in server.seen} == {"Bearer ${HOME}"}
    assert {headers["Accept-Encoding"] for _path, headers, _asked in server.seen} == {"identity"}


async def test_one_inside_the_network_must_be_allowed(server: HttpServer, connect: Connect) -> None:
    connection = await connect(Server("mine", Address(server.url("well"))))
    assert connection.fault
    assert connection.fault.detail == "it must be reached over https"
    connection = await connect(Server("mine", Address(server.url("well").replace("http:", "https:"))))
    assert connection.fault
    assert "127.0.0.1 is inside a network" in connection.fault.detail
    assert server.seen == []


async def test_a_name_is_looked_up_once_a_request_and_every_address_checked(
    server: HttpServer, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {"public.test": ["1.1.1.1", "127.0.0.1"], "near.test": ["127.0.0.1"]}
    asked: list[str] = []

    def resolve(host: str, port: int, *_args: Any, **_given: Any) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in names.get(host, [host])]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    mixed = server.url("well").replace("http://127.0.0.1", "https://public.test")
    connection = await connect(Server("mixed", Address(mixed)))
    assert connection.fault
    assert "127.0.0.1 is inside a network" in connection.fault.detail
    near = server.url("well").replace("127.0.0.1", "near.test")
    connection = await connect(Server("near", Address(near, inside=True)))
    assert await echo(connection, "hello") == "hello"
    assert {headers["Host"] for _path, headers, _asked in server.seen} == {f"near.test:{server.server_port}"}
    assert asked.count("near.test") == len(server.seen)


@pytest.mark.parametrize("host", ["169.254.169.254", "0.0.0.0", "[fe80::1]", "[::ffff:169.254.169.254]"])
async def test_some_addresses_nobody_may_allow(connect: Connect, host: str) -> None:
    connection = await connect(Server("mine", Address(f"http://{host}/mcp", inside=True)))
    assert connection.fault
    assert "is one that no server has" in connection.fault.detail


async def test_a_redirect_is_not_followed(server: HttpServer, connect: Connect) -> None:
    connection = await connect(Server("mine", Address(server.url("redirect"), inside=True)))
    assert connection.fault
    assert "redirect" in connection.fault.detail
    assert {path for path, _headers, _asked in server.seen} == {"/redirect"}


async def test_a_proxy_of_the_environment_is_not_asked(
    server: HttpServer, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    connection = await connect(Server("mine", Address(server.url("well"), inside=True)))
    assert await echo(connection, "straight") == "straight"


async def test_one_that_refuses_says_so(server: HttpServer, connect: Connect) -> None:
    connection = await connect(Server("mine", Address(server.url("refuse"), inside=True)))
    assert connection.fault
    assert "HTTP 401" in connection.fault.detail


async def test_compressed_answers_are_refused(server: HttpServer, connect: Connect) -> None:
    connection = await connect(Server("mine", Address(server.url("compress"), inside=True)))
    assert connection.fault
    assert "compresses" in connection.fault.detail


async def test_an_answer_without_end_is_torn_off(server: HttpServer, connect: Connect) -> None:
    connection = await connect(Server("mine", Address(server.url("large"), inside=True)))
    with pytest.raises(ServerError, match="larger than is taken in"):
        await echo(connection, "x")
    assert server.poured < 64 * 1024**2


async def test_an_answer_that_is_no_json(server: HttpServer, connect: Connect) -> None:
    connection = await connect(Server("mine", Address(server.url("broken"), inside=True)))
    with pytest.raises(ServerError, match="JSON"):
        await echo(connection, "x")


async def test_one_that_hangs_costs_its_time(server: HttpServer, connect: Connect) -> None:
    connection = await connect(Server("mine", Address(server.url("hang"), inside=True), seconds=0.5))
    with pytest.raises(ServerError, match=r"no answer within 0\.5 seconds"):
        await echo(connection, "x")


async def test_stop_lets_go_at_once(server: HttpServer, connect: Connect) -> None:
    connection = await connect(Server("mine", Address(server.url("hang"), inside=True)))
    call = asyncio.create_task(echo(connection, "x"))
    await until(lambda: any(asked["method"] == "tools/call" for _path, _headers, asked in server.seen))
    began = time.monotonic()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert time.monotonic() - began < 5  # the server would never answer


async def test_one_that_goes_away_comes_back(connect: Connect) -> None:
    with http_server() as server:
        port = server.server_port
        connection = await connect(Server("mine", Address(server.url("well"), inside=True)))
        assert await echo(connection, "first") == "first"
    with pytest.raises(ServerError):
        await echo(connection, "nobody there")
    await until(lambda: connection.fault)
    with http_server(port):
        await until(lambda: connection.fault is None and connection.connected)
        assert await echo(connection, "again") == "again"
