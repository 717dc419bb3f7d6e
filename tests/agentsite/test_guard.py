"""What a client can not do to a served site: fill its memory, or hold its connections."""

from __future__ import annotations

import json
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.metadata import version

import pytest

from agentsite import guard
from agentsite.guard import (
    BURST,
    CLOSE_FLOODED,
    HEADER_SECONDS,
    MAX_BODY,
    MAX_MESSAGE,
    MAX_UPLOADS,
    STALL_SECONDS,
)
from tests.agentsite.wire import PING, Wire, connections, memory, message, signed_in, text_frame, wire
from tests.serving import Served, serving, until

MIB = 1024 * 1024
BOUND = 300.0  # MiB that the site may ever take
LONG_CONVERSATION = """
import uuid
from chat.models import Conversation, Message, Turn, site_owner
made = Conversation.objects.create(owner=site_owner(), title="Long")
for number in range(60):
    turn = Turn.objects.create(conversation=made, client_id=uuid.uuid4(), status="completed")
    Message.objects.create(turn=turn, role="user", text="word " * 13_000)
print(made.pk)
"""


def test_the_corrections_are_for_this_version() -> None:
    assert f"Daphne {version('daphne')}," in (guard.__doc__ or ""), "check what agentsite/guard.py lists"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as site:
        until(lambda: is_ready(site), site.written)  # the worker loads its model client meanwhile: 40 MiB
        yield site
        assert memory(site, "VmHWM") < BOUND
        until(lambda: connections(site) == 0)


@pytest.fixture(scope="module")
def cookie(served: Served) -> str:
    return signed_in(served)


@pytest.fixture(scope="module")
def socket_path(served: Served) -> str:
    """The socket of a conversation whose snapshot is some MiB."""
    return f"/ws/conversations/{served.shell(LONG_CONVERSATION)}/"


def until_ping(client: Wire) -> Iterator[tuple[int, bytes]]:
    """Frames up to a ping."""
    while True:
        frame = client.frame()
        yield frame
        if frame[0] == PING:
            return


def until_alive(client: Wire, count: int) -> Iterator[tuple[int, bytes]]:
    """Frames up to the reply to this many heartbeats."""
    while count:
        frame = client.frame()
        yield frame
        count -= b'"alive"' in frame[1]


def is_ready(served: Served) -> bool:
    """Whether the site says that all of it works."""
    try:
        with urllib.request.urlopen(f"{served.address}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except urllib.error.HTTPError:
        return False


def test_a_body_up_to_the_bound_gets_through(served: Served) -> None:
    with wire(served) as client:
        client.say("POST /accounts/login/ HTTP/1.1", f"Content-Length: {MAX_BODY}", body=bytes(MAX_BODY))
        assert client.status() == 403, "Django has read it, and missed the token"


def test_an_announced_giant_is_refused_unread(served: Served) -> None:
    before = memory(served)
    with wire(served) as client:
        client.say("POST /accounts/login/ HTTP/1.1", f"Content-Length: {400 * MIB}")
        assert client.status() == 413
        client.pour(bytes(MIB), 400)
    assert memory(served) - before < 20


def test_a_giant_that_expects_a_go_ahead_gets_none(served: Served) -> None:
    with wire(served) as client:
        announced = f"Content-Length: {MAX_BODY + 1}"
        client.say("POST /accounts/login/ HTTP/1.1", "Expect: 100-continue", announced)
        assert client.status() == 413
        assert client.rest().endswith(b"larger than 1 MiB.\n")


def test_a_giant_in_chunks_is_refused_on_the_way(served: Served) -> None:
    before = memory(served)
    with wire(served) as client:
        client.say("POST /accounts/login/ HTTP/1.1", "Transfer-Encoding: chunked")
        sent = client.pour(b"10000\r\n" + bytes(65536) + b"\r\n", 17)
        assert sent == 17
        assert client.status() == 413
        assert client.pour(b"10000\r\n" + bytes(65536) + b"\r\n", 10**7) < 10**7
    assert memory(served) - before < 20


def test_headers_that_drip_are_cut_off(served: Served) -> None:
    began = time.monotonic()
    with ExitStack() as stack:
        clients = [stack.enter_context(wire(served)) for _ in range(50)]
        for client in clients:
            client.socket.sendall(b"GET / HTTP/1.1\r\nX-Drip: ")
        gone: set[int] = set()
        while len(gone) < len(clients) and time.monotonic() - began < 3 * HEADER_SECONDS:
            gone |= {number for number, client in enumerate(clients) if not client.pour(b"x", 1)}
            time.sleep(0.2)
        assert len(gone) == len(clients)
        assert time.monotonic() - began > HEADER_SECONDS - 1
    with wire(served) as client:
        client.say("GET /healthz HTTP/1.1")
        assert client.status() == 200


def test_a_second_request_on_a_connection_has_its_own_deadline(served: Served) -> None:
    with wire(served) as client:
        client.say("GET /healthz HTTP/1.1")
        assert client.status() == 200
        client.socket.recv(100)
        client.socket.sendall(b"GET /healthz HTTP/1.1\r\nX-Drip")
        began = time.monotonic()
        assert client.rest() == b""
        assert HEADER_SECONDS - 1 < time.monotonic() - began < 2 * HEADER_SECONDS


def test_a_socket_message_above_the_bound_closes_it(served: Served, cookie: str, socket_path: str) -> None:
    with wire(served) as client:
        assert client.upgrade(f"{socket_path}?after=1000", cookie) == 101
        client.pour(text_frame("x" * MAX_MESSAGE), 1)
        kind, content = next(frame for frame in client.frames() if frame[1].startswith(b'{"type": "error"'))
        assert (kind, json.loads(content)["type"]) == (1, "error"), "at the bound the application answers"
        client.pour(text_frame("x" * (MAX_MESSAGE + 1)), 1)
        assert client.rest() == b"", "above it the connection is dropped"


def test_a_flood_of_messages_closes_the_socket(served: Served, cookie: str, socket_path: str) -> None:
    before = memory(served)
    with wire(served) as client:
        assert client.upgrade(f"{socket_path}?after=1000", cookie) == 101
        client.pour(text_frame("x" * MAX_MESSAGE), 300)
        heard = list(client.frames())
        assert (heard[-1][0], int.from_bytes(heard[-1][1][:2])) == (8, CLOSE_FLOODED)
        assert json.loads(heard[-2][1])["message"].startswith("Too many messages")
        assert len(heard) < BURST + 10
    assert memory(served) - before < 20


def test_a_hundred_small_messages_at_once_are_too_many(served: Served, cookie: str, socket_path: str) -> None:
    with wire(served) as client:
        assert client.upgrade(f"{socket_path}?after=1000", cookie) == 101
        client.pour(text_frame("x") * 100, 1)
        heard = list(client.frames())
        assert (heard[-1][0], int.from_bytes(heard[-1][1][:2])) == (8, CLOSE_FLOODED)
        assert json.loads(heard[-2][1])["message"].startswith("Too many messages")


def test_who_writes_at_a_persons_pace_is_not_cut_off(served: Served, cookie: str, socket_path: str) -> None:
    with wire(served) as client:
        assert client.upgrade(f"{socket_path}?after=1000", cookie) == 101
        for _ in range(10):
            client.pour(message(" "), 1)
            kind, _content = next(frame for frame in client.frames() if b"refused" in frame[1])
            assert kind == 1


def test_only_a_silent_client_is_asked_for_a_sign_of_life(
    served: Served, cookie: str, socket_path: str
) -> None:
    """A ping is sent 10 to 12 seconds after a client's last message; heartbeats are sent every 8 s."""
    heartbeat = text_frame(json.dumps({"type": "heartbeat"}))
    with wire(served) as talking, wire(served) as silent:
        for client in (talking, silent):
            assert client.upgrade("/ws/board/", cookie) == 101
        threading.Timer(6, talking.socket.sendall, [heartbeat]).start()
        assert [kind for kind, _content in until_ping(silent)] == [PING]
        talking.socket.sendall(heartbeat)
        assert PING not in [kind for kind, _content in until_alive(talking, 2)]


def test_who_never_reads_is_cut_off(served: Served, cookie: str, socket_path: str) -> None:
    began = time.monotonic()
    until(lambda: connections(served) == 0)  # those of earlier tests
    with ExitStack() as stack:
        clients = [stack.enter_context(wire(served)) for _ in range(5)]
        for client in clients:
            assert client.upgrade(f"{socket_path}?after=0", cookie) == 101
        assert connections(served) == len(clients)
        until(lambda: connections(served) == 0, seconds=4 * STALL_SECONDS)
        assert time.monotonic() - began > STALL_SECONDS - 1


def test_who_reads_gets_a_long_conversation_whole(served: Served, cookie: str, socket_path: str) -> None:
    with wire(served) as client:
        assert client.upgrade(socket_path, cookie) == 101
        client.pour(text_frame('{"type": "have"}'), 1)
        read = 0
        for kind, content in client.frames():
            assert kind == 1
            read += len(content)
            if b'id="conversation"' in content:
                break
        assert read > 3 * MIB


def form(served: Served, cookie: str, path: str, size: int) -> tuple[list[str], bytes]:
    """Header lines and body of a form with one file of that size."""
    token = "x" * 32
    head = (
        f'--b\r\nContent-Disposition: form-data; name="csrfmiddlewaretoken"\r\n\r\n{token}\r\n--b\r\n'
        'Content-Disposition: form-data; name="files"; filename="a.bin"\r\n\r\n'
    ).encode()
    body = head + bytes(size) + b"\r\n--b--\r\n"
    lines = [f"POST {path} HTTP/1.1", f"Cookie: {cookie}; csrftoken={token}", f"Origin: {served.address}"]
    lines += ["Content-Type: multipart/form-data; boundary=b", f"Content-Length: {len(body)}"]
    return lines, body


def test_a_form_with_files_may_be_large_where_files_are_taken(
    served: Served, cookie: str, socket_path: str
) -> None:
    path = f"{socket_path.removeprefix('/ws')}files/upload/"
    lines, body = form(served, cookie, path, 20 * MIB)
    with wire(served) as client:
        client.say(*lines, body=body)
        assert client.status() == 302
    kept = next((served.data / "workspaces").glob("*/uploads/a.bin"))
    assert kept.stat().st_size == 20 * MIB


@pytest.mark.parametrize("path", ["/", "/conversations/00000000-0000-4000-8000-000000000000/files/upload/"])
def test_even_there_it_has_a_bound(served: Served, cookie: str, path: str) -> None:
    with wire(served) as client:
        lines, _body = form(served, cookie, path, 0)
        client.say(*lines[:-1], f"Content-Length: {MAX_BODY + 25 * MIB + 1}")
        assert client.status() == 413
        assert client.rest().endswith(b"larger than 26 MiB.\n")


@pytest.mark.parametrize("path", ["/accounts/login/", "/conversations/x/files/upload/", "//"])
def test_a_form_with_files_is_bound_as_ever_elsewhere(served: Served, cookie: str, path: str) -> None:
    with wire(served) as client:
        lines, _body = form(served, cookie, path, 0)
        client.say(*lines[:-1], f"Content-Length: {MAX_BODY + 1}")
        assert client.status() == 413


def test_only_so_many_large_forms_come_at_once(served: Served, cookie: str) -> None:
    lines, body = form(served, cookie, "/", 2 * MIB)
    with ExitStack() as stack:
        for _ in range(MAX_UPLOADS):
            stack.enter_context(wire(served)).say(*lines, body=body[:1000])
        until(lambda: refused_as_one_too_many(served, lines))
    until(lambda: not refused_as_one_too_many(served, lines))


def refused_as_one_too_many(served: Served, lines: list[str]) -> bool:
    with wire(served) as client:
        client.say(*lines, "Expect: 100-continue")
        return client.status() == 503


def test_who_does_not_read_a_download_costs_no_memory(served: Served, cookie: str, socket_path: str) -> None:
    path = f"{socket_path.removeprefix('/ws')}files/"
    folder = served.data / "workspaces" / socket_path.split("/")[3]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "large").write_bytes(os.urandom(MIB) * 80)
    before = memory(served)
    with wire(served) as client:
        client.say(f"GET {path}download/?path=large HTTP/1.1", f"Cookie: {cookie}")
        assert client.status() == 200
        assert client.socket.recv(MIB)
        with wire(served) as other:
            other.say(f"GET {path}zip/ HTTP/1.1", f"Cookie: {cookie}", "Connection: close")
            read = 0
            while piece := other.socket.recv(MIB):
                read += len(piece)
        assert read > 80 * MIB, "another gets everything meanwhile"
        assert memory(served) - before < 40
