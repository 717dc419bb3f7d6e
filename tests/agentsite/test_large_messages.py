"""Messages to clients have no size limit, unlike those from them; both may be compressed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import zlib
from collections.abc import Iterator

import aiohttp
import pytest

from agentsite.guard import MAX_MESSAGE
from tests.agentsite.wire import Wire, compressed_frame, text_frame
from tests.serving import ROOT

OFFER = "permessage-deflate; client_max_window_bits"
FLUSHED = b"\0\0\xff\xff"  # which senders leave out

# Answers each number with a text message of that many bytes, the word "binary" with a binary one of 1 MiB.
SERVER = """
import os
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentsite.settings")
from agentsite.guard import GuardedServer

async def application(scope, receive, send):
    while (event := await receive())["type"] != "websocket.disconnect":
        if event["type"] == "websocket.connect":
            await send({"type": "websocket.accept"})
        elif event["text"] == "binary":
            await send({"type": "websocket.send", "bytes": bytes(2**20)})
        elif event["text"].isdecimal():
            await send({"type": "websocket.send", "text": "é" * (int(event["text"]) // 2)})

def ready():
    server.guard()
    print(server.listening_addresses[0][1], flush=True)

server = GuardedServer(application=application, endpoints=["tcp:0:interface=127.0.0.1"], ready_callable=ready)
server.run()
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.terminate()


@pytest.mark.parametrize("size", [MAX_MESSAGE, MAX_MESSAGE + 2, 5 * 2**20])
def test_a_large_message_reaches_the_browser(address: str, size: int) -> None:
    client = Wire(address)
    assert client.upgrade("/", "") == 101
    client.socket.sendall(text_frame(str(size)))
    assert client.frame() == (1, ("é" * (size // 2)).encode())
    client.socket.sendall(text_frame("2"))
    assert client.frame() == (1, "é".encode()), "the socket is still usable"
    client.socket.close()


def test_a_large_binary_message_reaches_the_browser(address: str) -> None:
    client = Wire(address)
    assert client.upgrade("/", "") == 101
    client.socket.sendall(text_frame("binary"))
    assert client.frame() == (2, bytes(2**20))
    client.socket.close()


def test_a_large_message_of_the_client_is_refused(address: str) -> None:
    client = Wire(address)
    assert client.upgrade("/", "") == 101
    client.pour(text_frame("x" * (MAX_MESSAGE + 1)), 1)
    assert client.rest() == b""
    client.socket.close()


@pytest.mark.parametrize("window", [9, 15])
def test_messages_of_all_sizes_reach_a_client_that_offers_compression(address: str, window: int) -> None:
    async def received() -> list[str]:
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(address, compress=window, max_msg_size=0) as socket,
        ):
            assert socket.compress
            for size in sizes:
                await socket.send_str(str(size))
            return [await socket.receive_str(timeout=10) for _size in sizes]

    sizes = [2, 64, 20_000, MAX_MESSAGE + 2, 66, 2, 20_000]
    assert asyncio.run(received()) == ["é" * (size // 2) for size in sizes]


def test_a_repeated_message_travels_in_a_few_bytes(address: str) -> None:
    client = Wire(address)
    assert client.upgrade("/", "", extensions=OFFER) == 101
    client.socket.sendall(text_frame("2000") * 2)
    (_kind, first), (_kind, again) = client.frame(), client.frame()
    inflate = zlib.decompressobj(wbits=-13).decompress
    assert inflate(first + FLUSHED) == inflate(again + FLUSHED) == ("é" * 1000).encode()
    assert len(again) < 20
    client.socket.close()


def test_a_message_that_inflates_beyond_the_limit_is_refused(address: str) -> None:
    client = Wire(address)
    assert client.upgrade("/", "", extensions=OFFER) == 101
    client.pour(compressed_frame("x" * (MAX_MESSAGE + 1)), 1)
    assert client.rest() == b""
    client.socket.close()
