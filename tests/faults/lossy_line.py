"""A line on which whole websocket messages from the site get lost, doubled and reordered."""

from __future__ import annotations

import contextlib
import itertools
import socket
from collections.abc import Iterator
from typing import IO

from tests.faults.muddle import Muddle
from tests.faults.proxy import Proxy

TEXT = 0x81  # the first byte of a message of text that is whole
LENGTH_BYTES = {126: 2, 127: 8}


class LossyLine(Proxy):
    """Muddles what comes back on each connection by itself; pages and all else pass as they are."""

    def __init__(self, port: int, seed: str) -> None:
        super().__init__(port)
        self.seed = seed
        self.numbers = itertools.count()

    def _pass(self, source: socket.socket, sink: socket.socket, backward: bool) -> None:
        if not backward:
            super()._pass(source, sink, backward)
            return
        with contextlib.suppress(OSError), source.makefile("rb") as stream:
            for part in self._parts(stream):
                self.passed += len(part)
                self._deliver(part, sink)
        for each in (source, sink):
            with contextlib.suppress(OSError):  # ended already
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _parts(self, stream: IO[bytes]) -> Iterator[bytes]:
        head = b"".join(_head(stream))
        yield head
        if b" 101 " not in head.split(b"\r\n")[0]:
            yield from iter(lambda: stream.read1(65536), b"")  # type: ignore[attr-defined]
            return
        muddle: Muddle[bytes] = Muddle(f"{self.seed} {next(self.numbers)}", _ends)
        for message in _messages(stream):
            yield from muddle(message) if message[0] == TEXT else [message]


def _head(stream: IO[bytes]) -> Iterator[bytes]:
    """The lines up to the blank one, with it."""
    for line in stream:
        yield line
        if line == b"\r\n":
            return


def _messages(stream: IO[bytes]) -> Iterator[bytes]:
    """The messages of a server, as they travel: unmasked."""
    while len(first := stream.read(2)) == 2:
        size = first[1]
        length = stream.read(LENGTH_BYTES.get(size, 0))
        yield first + length + stream.read(int.from_bytes(length, "big") if length else size)


def _ends(message: bytes) -> bool:
    """Whether it is what tells a page that the agent has nothing more to do."""
    return b'id="conversation" class="conversation" data-status="idle"' in message
