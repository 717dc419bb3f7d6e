"""A faulty line: relays TCP connections to a loopback port, badly if it is told to."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator
from typing import Self

PIECE = 65536
RESET = struct.pack("ii", 1, 0)  # a close that lingers for no time is a reset


class Proxy:
    """Relays to `port`. Attributes may be changed at any time, and hold for open connections, too.

    `latency` delays every piece by so many seconds; `drip` passes one byte at a time, with so many seconds in
    between; what comes from the far side while it is stalled waits.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.latency = 0.0
        self.drip = 0.0
        self.flowing = threading.Event()
        self.flowing.set()
        self.lost: list[threading.Event] = []
        self.refusing = False
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.number = int(self.listening.getsockname()[1])
        self.address = f"http://127.0.0.1:{self.number}"
        self.pairs: list[tuple[socket.socket, socket.socket]] = []
        self.passed = 0  # bytes that came from the far side

    def stall(self) -> None:
        """Pass nothing on, and say nothing about it."""
        self.flowing.clear()

    def flow(self) -> None:
        """Pass on again, what waited first; let new connections in."""
        self.refusing = False
        self.flowing.set()

    def lose(self) -> None:
        """Pass nothing on for good on the connections of now, and say nothing about it; later ones work."""
        self.lost.append(self.flowing)
        self.flowing.clear()
        self.flowing = threading.Event()
        self.flowing.set()

    def cut(self) -> None:
        """End every connection in good order, and every new one at once."""
        self.refusing = True
        self.end()

    def end(self) -> None:
        """End every connection in good order."""
        for near, far in self._taken():
            _end(near)
            _end(far)

    def reset(self) -> None:
        """Break every connection."""
        for near, far in self._taken():
            _break(near)
            _end(far)

    def half_close(self) -> None:
        """Say to the near side that nothing more comes; go on taking what it sends."""
        for near, _far in list(self.pairs):
            _shut(near, socket.SHUT_WR)

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        for flowing in (*self.lost, self.flowing):
            flowing.set()
        _end(self.listening)

    def _taken(self) -> Iterator[tuple[socket.socket, socket.socket]]:
        while self.pairs:
            yield self.pairs.pop()

    def _accept(self) -> None:
        while True:
            try:
                near, _address = self.listening.accept()
            except OSError:  # the line is taken down
                return
            if self.refusing:
                _break(near)
            else:
                threading.Thread(target=self._relay, args=(near,), daemon=True).start()

    def _relay(self, near: socket.socket) -> None:
        try:
            far = socket.create_connection(("127.0.0.1", self.port))
        except OSError:
            _break(near)
            return
        self.pairs.append((near, far))
        threading.Thread(target=self._pass, args=(far, near, True), daemon=True).start()
        self._pass(near, far, False)

    def _pass(self, source: socket.socket, sink: socket.socket, backward: bool) -> None:
        flowing = self.flowing
        with contextlib.suppress(OSError):  # the other side is gone, or the line was cut
            while piece := source.recv(PIECE):
                self.passed += len(piece) * backward
                self._deliver(piece, sink, flowing)
            _shut(sink, socket.SHUT_WR)
            return
        _end(source)
        _end(sink)

    def _deliver(self, piece: bytes, sink: socket.socket, flowing: threading.Event) -> None:
        time.sleep(self.latency)
        for part in [piece[n : n + 1] for n in range(len(piece))] if self.drip else [piece]:
            flowing.wait()
            time.sleep(self.drip)
            sink.sendall(part)


def _shut(connection: socket.socket, how: int) -> None:
    with contextlib.suppress(OSError):  # ended already
        connection.shutdown(how)


def _end(connection: socket.socket) -> None:
    _shut(connection, socket.SHUT_RDWR)
    connection.close()


def _break(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    _shut(connection, socket.SHUT_RD)  # whoever reads it would keep it open
    connection.close()
