"""Clients that speak to a served site byte by byte, as no browser would."""

from __future__ import annotations

import base64
import json
import os
import socket
import ssl
import urllib.request
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlsplit

from tests.serving import Served

PATIENCE = 30.0
PING = 9


class Wire:
    """One connection to a site."""

    def __init__(self, address: str, tls: ssl.SSLContext | None = None) -> None:
        self.place = urlsplit(address)
        assert self.place.hostname
        assert self.place.port
        self.socket = socket.create_connection((self.place.hostname, self.place.port), PATIENCE)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname=self.place.hostname)

    def say(self, *lines: str, body: bytes = b"") -> None:
        """Send header lines, an empty one and a body."""
        self.socket.sendall("\r\n".join([*lines, f"Host: {self.place.netloc}", "", ""]).encode() + body)

    def pour(self, piece: bytes, times: int) -> int:
        """Send the piece again and again until the other side has closed; how often it went."""
        for sent in range(times):
            try:
                self.socket.sendall(piece)
            except OSError:
                return sent
        return times

    def head(self) -> str:
        """What is answered, up to the end of the headers."""
        heard = b""
        while b"\r\n\r\n" not in heard and (byte := self.socket.recv(1)):
            heard += byte
        return heard.decode()

    def status(self) -> int:
        return int(self.head().split()[1])

    def rest(self) -> bytes:
        """All data until the other side closes."""
        heard = b""
        try:
            while piece := self.socket.recv(65536):
                heard += piece
        except ConnectionError:
            pass
        return heard

    def upgrade(self, path: str, cookie: str, origin: str = "", extensions: str = "") -> int:
        """Become a websocket, if the answer's status is 101."""
        self.say(
            f"GET {path} HTTP/1.1",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
            f"Origin: {origin or f'{self.place.scheme}://{self.place.netloc}'}",
            f"Cookie: {cookie}",
            *([f"Sec-WebSocket-Extensions: {extensions}"] if extensions else []),
        )
        return self.status()

    def frame(self) -> tuple[int, bytes]:
        """Kind and content of the next websocket frame."""
        kind, length = self.exactly(2)
        if length == 126:
            length = int.from_bytes(self.exactly(2))
        elif length == 127:
            length = int.from_bytes(self.exactly(8))
        return kind & 0x0F, self.exactly(length)

    def frames(self) -> Iterator[tuple[int, bytes]]:
        """Frames up to the one that closes the socket, that one included; without pings."""
        while True:
            kind, content = self.frame()
            if kind != PING:
                yield kind, content
            if kind == 8:
                return

    def exactly(self, count: int) -> bytes:
        heard = b""
        while len(heard) < count:
            piece = self.socket.recv(count - len(heard))
            assert piece, "the connection ended within a frame"
            heard += piece
        return heard


def text_frame(content: str) -> bytes:
    """A text message as a client frames it, with a zero mask."""
    return _client_frame(0x81, content.encode())


def compressed_frame(content: str) -> bytes:
    """The same, compressed with permessage-deflate."""
    compressor = zlib.compressobj(wbits=-15)
    return _client_frame(
        0xC1, compressor.compress(content.encode()) + compressor.flush(zlib.Z_SYNC_FLUSH)[:-4]
    )


def _client_frame(start: int, data: bytes) -> bytes:
    length = len(data)
    size = bytes([0x80 | length]) if length < 126 else b""
    size = size or (b"\xfe" + length.to_bytes(2) if length < 65536 else b"\xff" + length.to_bytes(8))
    return bytes([start]) + size + b"\0\0\0\0" + data


def pong() -> bytes:
    """What keeps a socket open on which no ping is answered."""
    return _client_frame(0x8A, b"")


def message(text: str) -> bytes:
    """What the composer sends."""
    return text_frame(json.dumps({"text": text}))


@contextmanager
def wire(served: Served) -> Iterator[Wire]:
    """A connection to the site, closed in the end."""
    opened = Wire(served.address)
    try:
        yield opened
    finally:
        opened.socket.close()


def signed_in(served: Served) -> str:
    """The Cookie header of the site's owner."""
    jar = CookieJar()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    opener.open(served.link, timeout=PATIENCE).close()
    return "; ".join(f"{cookie.name}={cookie.value}" for cookie in jar)


def memory(served: Served, kind: str = "VmRSS") -> float:
    """MiB that the site has in memory; kind VmHWM: the most that it ever had."""
    status = Path(f"/proc/{served.process.pid}/status").read_text()
    return int(status.partition(f"{kind}:")[2].split()[0]) / 1024


def connections(served: Served) -> int:
    """Connections that the site holds open."""
    own = f"0100007F:{served.port:04X}"
    with open("/proc/net/tcp") as table:
        rows = [line.split() for line in table]
    return sum(row[1] == own and row[3] == "01" for row in rows)
