"""The message limit of sockets applies to incoming messages only."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from agentsite.guard import MAX_MESSAGE
from tests.agentsite.wire import Wire, text_frame
from tests.serving import ROOT

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
