"""Connections that hang, tarry and break (B4, B10)."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from chat.demo.reply import Reply, chunk, sse
from chat.models import Message
from tests.conformance.conftest import Play
from tests.conformance.scenario import DONE, Scenario, raw
from tests.live.site import until
from tests.model_server import listening

START, END = sse(chunk({"content": "Half of"}), chunk({"content": " it."}, "stop"))
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
LATE = "did not answer in time"

SCENARIOS = [
    Scenario(
        "B10",
        "the endpoint falls silent",
        [Reply(raw=[START], stall_after=1)] * 3,
        text="Half of",
        traits={"silence": 1},
        status="failed",
        sentence=LATE,
    ),
    Scenario(
        "B10",
        "the endpoint never says a word",
        [Reply(raw=[], stall_after=0)] * 3,
        traits={"silence": 0.2},
        status="failed",
        sentence=LATE,
        asks=3,
    ),
    Scenario(
        "B4",
        "comments show that the endpoint is still there",
        [raw(START, *[b": ping\n\n"] * 8, END, *DONE, delay=0.5)],
        text="Half of it.",
        traits={"silence": 3},
        asks=1,
    ),
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
async def test_connections(play: Play, scenario: Scenario) -> None:
    await play(scenario)


class Resetting:
    """An endpoint that resets its first connection in the middle of the reply, and then answers."""

    answer: Any = None

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.was_read = threading.Event()
        self._socket = listening()
        self._socket.setblocking(True)
        self.base_url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _serve(self) -> None:
        try:
            while True:
                self._answer(self._socket.accept()[0])
        except OSError:  # closed
            return

    def _answer(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as received:
            size = 0
            while line := received.readline().strip():
                name, _colon, value = line.lower().partition(b":")
                size = int(value) if name == b"content-length" else size
            self.requests.append(json.loads(received.read(size)))
            connection.sendall(HEAD + START)
            if len(self.requests) > 1:
                connection.sendall(END + b"".join(DONE))
                return
            self.was_read.wait(10)  # a reset overtakes what was not
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.fixture
def resetting() -> Iterator[Resetting]:
    endpoint = Resetting()
    yield endpoint
    endpoint.close()


async def test_a_connection_is_reset(play: Play, owner: User, settings: Any, resetting: Resetting) -> None:
    async def read() -> bool:
        return await Message.objects.filter(text="Half of").aexists()

    scenario = Scenario(
        "B10",
        "the connection is reset",
        [],
        text="Half of",
        status="failed",
        sentence="ended before the reply was complete",
        asks=1,
    )
    playing = asyncio.create_task(Play(owner, resetting, settings)(scenario))
    await until(read)
    resetting.was_read.set()
    await playing
