"""Bad requests write at most one line to the log, without traceback."""

from __future__ import annotations

import json
import re
import socket
import struct
from collections.abc import Callable, Iterator

import pytest

from tests.agentsite.wire import Wire, connections, message, signed_in, text_frame, wire
from tests.serving import Served, serving, until

TOKEN = "x" * 32
FORM = "Content-Type: application/x-www-form-urlencoded"
MULTIPART = "Content-Type: multipart/form-data; boundary=b"
UPGRADE = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
UPGRADE += "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: http://HOST"


def get(path: str, *lines: str, host: str = "HOST") -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", f"Host: {host}", *lines, "", ""]).encode("latin-1")


def post(*lines: str, body: str = "a=b", path: str = "/accounts/login/") -> bytes:
    """A form with a valid CSRF token."""
    length, cookie = f"Content-Length: {len(body)}", f"Cookie: csrftoken={TOKEN}"
    head = [f"POST {path} HTTP/1.1", "Host: HOST", length, cookie, f"X-CSRFToken: {TOKEN}", *lines]
    return ("\r\n".join([*head, "", ""]) + body).encode("latin-1")


REQUESTS = {
    "another host": get("/", host="evil.example"),
    "two hosts": get("/", "Host: b"),
    "bytes as host": get("/", host="\xff\xfe"),
    "another protocol": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "bytes as method": b"G\xffT / HTTP/1.1\r\nHost: HOST\r\n\r\n",
    "bytes as path": get("/\xff"),
    "escaped bytes in path": get("/%ff/%00/%f0%9f"),
    "bytes in query": get("/?q=\xff"),
    "escaped bytes in query": get("/accounts/login/?next=%ff%00"),
    "lines in path": get("/a%0d%0a2026-01-01%20ERROR%20forged/"),
    "broken address": get("http://[::1/"),
    "another host's address": get("http://evil.example/x"),
    "no path": b"OPTIONS * HTTP/1.1\r\nHost: HOST\r\n\r\n",
    "connect": b"CONNECT a:1 HTTP/1.1\r\nHost: HOST\r\n\r\n",
    "spaces in a header's name": get("/", "X Y: 1"),
    "nul in a header": get("/", "X-Y: a\0b"),
    "root path": get("/accounts/login/", "Daphne-Root-Path: /evil"),
    "bytes as root path": get("/accounts/login/", "Daphne-Root-Path: \xff"),
    "cookie": get("/", "Cookie: sessionid=\xff\xfe; csrftoken=\x80; a=b=c;;;"),
    "no csrf token": b"POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 3\r\n\r\na=b",
    "another origin": post(FORM, "Origin: https://evil.example"),
    "too many fields": post(FORM, body="a=1&" * 2000),
    "bytes in a form": post(FORM, body="a=%ff%00&\xff=1&username=\xff"),
    "no such charset": post(f"{FORM}; charset=nothing"),
    "another charset": post(f"{FORM}; charset=utf-16"),
    "no boundary": post("Content-Type: multipart/form-data"),
    "bad boundary": post("Content-Type: multipart/form-data; boundary=\xff"),
    "bad part": post(MULTIPART, body="--b\r\nContent-Disposition: form-data; name=\r\n\r\n1"),
    "bad base64": post(
        MULTIPART,
        body='--b\r\nContent-Disposition: form-data; name="a"\r\nContent-Transfer-Encoding: base64\r\n\r\n'
        "!!!\r\n--b--\r\n",
    ),
    "many parts": post(MULTIPART, body='--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n' * 1500),
    "bad chunk": b"POST / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "negative length": b"POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: -3\r\n\r\n",
    "two lengths": post(FORM, "Transfer-Encoding: chunked"),
    "bad range": get("/static/app.css", "Range: bytes=9999999999-", "If-Modified-Since: zzz"),
    "many languages": get("/accounts/login/", f"Accept-Language: {'a,' * 5000}"),
    "bytes as token": get("/metrics", "Authorization: Bearer \xff"),
    "bytes as link": get("/shared/%ff%00/files/%2e%2e/%00"),
    "bytes as sign-in link": get("/sign-in/%ff%00/"),
    "socket that is nowhere": get("/ws/nowhere/", UPGRADE),
    "socket with bytes as path": get("/ws/%ff/", UPGRADE),
    "socket without an origin": get("/ws/board/", UPGRADE.partition("\r\nOrigin")[0]),
    "socket of another origin": get("/ws/board/", f"{UPGRADE}.evil.example"),
    "socket with a broken origin": get("/ws/board/", f"{UPGRADE.partition('http://')[0]}http://[evil"),
    "socket at another host": get("/ws/board/", UPGRADE, host="evil.example"),
    "socket at a broken host": get("/ws/board/", UPGRADE, host="HOST:zz"),
    "socket with bytes as protocol": get("/ws/board/", UPGRADE, "Sec-WebSocket-Protocol: \xff"),
    "socket beneath a root path": get("/ws/board/", UPGRADE, "Daphne-Root-Path: /x"),
    "socket with a bad key": get("/ws/board/", UPGRADE.replace("==", "")),
    "socket with a body": post(UPGRADE, path="/ws/board/"),
    "socket with bytes as cookie": get("/ws/board/", UPGRADE, "Cookie: sessionid=\xff; a"),
}
FRAMES = {
    "reserved bits": b"\xf1\x80\0\0\0\0",
    "no mask": b"\x81\x01a",
    "no utf-8": b"\x81\x82\0\0\0\0\xff\xfe",
    "large ping": b"\x89\xfe\0\x80\0\0\0\0" + b"a" * 128,
    "binary": b"\x82\x82\0\0\0\0\xff\xfe",
    "no json": text_frame("{]"),
    "a list": text_frame("[]"),
    "null": text_frame("null"),
    "surrogate": text_frame(json.dumps({"text": "\ud800", "client_id": "\ud800"})),
    "deep": text_frame("[" * 100_000),
    "no numbers": text_frame('{"type": "have", "after": NaN, "turn": 1e999}'),
    "large number": text_frame(f'{{"type": "have", "turn": {"9" * 5000}, "numbered": {"9" * 5000}}}'),
    "broken close": b"\x88\x81\0\0\0\0a",
}
CONVERSATION = """
import uuid
from chat.models import Conversation, Turn, site_owner
made = Conversation.objects.create(owner=site_owner(), title="Live")
Turn.objects.create(conversation=made, client_id=uuid.uuid4(), status="completed")
print(made.pk)
"""
EXCEPTION = 1011  # the code with which Daphne closes a socket whose application raised one
LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (WARNING|INFO) \S+: .*")


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as site:
        yield site


@pytest.fixture(scope="module")
def cookie(served: Served) -> str:
    return signed_in(served)


@pytest.fixture
def lines(served: Served) -> Iterator[Callable[[], list[str]]]:
    """The log lines since the last call; checks that each is one that a client may cause."""
    seen = len(served.written())

    def written() -> list[str]:
        nonlocal seen
        fresh = served.written()[seen:]
        seen += len(fresh)
        for line in fresh.splitlines():
            assert LINE.fullmatch(line), fresh
        return fresh.splitlines()

    yield written
    written()


def test_a_bad_request_costs_one_line(served: Served, lines: Callable[[], list[str]]) -> None:
    for name, request in REQUESTS.items():
        with wire(served) as client:
            client.socket.sendall(request.replace(b"HOST", client.place.netloc.encode()))
            # An exception is logged before it is answered.
            assert 100 < client.status() < 500, name
        assert len(lines()) <= 1, name


def test_a_bad_frame_costs_one_line(served: Served, cookie: str, lines: Callable[[], list[str]]) -> None:
    path = f"/ws/conversations/{served.shell(CONVERSATION)}/"
    for name, frame in FRAMES.items():
        with wire(served) as client:
            assert client.upgrade(path, cookie) == 101
            client.pour(frame + message(" "), 1)
            assert ended(client) != f"closed with {EXCEPTION}", name
        assert len(lines()) <= 1, name


def ended(client: Wire) -> str:
    """The socket's close code after an invalid and an empty message, or its reply."""
    try:
        for kind, content in client.frames():
            if kind == 8:
                return f"closed with {int.from_bytes(content[:2])}"
            if b'"refused"' in content:
                return "refused the next message"
    except (AssertionError, ConnectionError):
        pass
    return "cut off"


def test_a_client_that_leaves_costs_no_line(
    served: Served, cookie: str, lines: Callable[[], list[str]]
) -> None:
    for request in (
        b"GET / HT",
        post(FORM)[:-2],
        get("/conversations/", f"Cookie: {cookie}"),
        get("/static/app.js"),
        get("/ws/board/", UPGRADE, f"Cookie: {cookie}"),
        get("/ws/board/", UPGRADE, f"Cookie: {cookie}") + text_frame("{}")[:3],
    ):
        with wire(served) as client:
            client.socket.sendall(request.replace(b"HOST", client.place.netloc.encode()))
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    until(lambda: connections(served) == 0)
    assert lines() == []
