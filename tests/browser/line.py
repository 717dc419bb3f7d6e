"""A line that can be cut, between browser and site or site and model: a relay for TCP connections."""

from __future__ import annotations

import contextlib
import socket
import threading


class Line:
    """Relays connections to a loopback port, which may change; while it is cut, new ones wait unanswered."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.whole = threading.Event()
        self.whole.set()
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.listening.getsockname()[1]}"
        self.open: list[socket.socket] = []

    def cut(self) -> None:
        """End every connection at once, and answer no new one."""
        self.whole.clear()
        self.break_off()

    def break_off(self) -> None:
        """End every connection at once; new ones are relayed."""
        while self.open:
            _end(self.open.pop())

    def mend(self) -> None:
        """Relay again, those that waited first."""
        self.whole.set()

    def __enter__(self) -> Line:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        _end(self.listening)
        self.mend()

    def _accept(self) -> None:
        while True:
            try:
                near, _address = self.listening.accept()
            except OSError:  # the line is taken down
                return
            threading.Thread(target=self._relay, args=(near,), daemon=True).start()

    def _relay(self, near: socket.socket) -> None:
        self.whole.wait()
        try:
            far = socket.create_connection(("127.0.0.1", self.port))
        except OSError:
            _end(near)
            return
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.open += [near, far]
        threading.Thread(target=_pass, args=(far, near), daemon=True).start()
        _pass(near, far)


def _pass(source: socket.socket, sink: socket.socket) -> None:
    try:
        while piece := source.recv(65536):
            sink.sendall(piece)
    except OSError:  # the other side is gone, or the line was cut
        pass
    _end(source)
    _end(sink)


def _end(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # ended already
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
