"""What the site has in memory under every flood, and that nobody else is kept waiting by one."""

from __future__ import annotations

import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import pytest

from agentsite.guard import MAX_MESSAGE
from chat.demo.reply import Reply
from chat.live.page_consumer import CLOSE_TOO_MANY, MAX_SOCKETS_PER_USER
from tests.agentsite.test_guard import LONG_CONVERSATION, connections, is_ready
from tests.agentsite.wire import Wire, memory, pong, signed_in, text_frame, wire
from tests.faults.conftest import SOAK
from tests.faults.person import Person
from tests.faults.records import Records
from tests.model_server import ScriptedModel
from tests.serving import ROOT, Served, serving, until

BOUND = 300.0  # MiB
MANY = 80 if SOAK else 40
MIB = 1024 * 1024
FAIR = 10.0  # seconds in which another owner's turn ends while one floods
STRANGER = """
from django.contrib.auth.models import User
from chat.models import SignInLink
print(SignInLink.issue(User.objects.create_user("stranger")))
"""


@pytest.fixture
def served(model: ScriptedModel) -> Iterator[Served]:
    model.answer = lambda request: Reply(text="An answer of some words.", piece=4, delay=0.05)
    named = {
        "OPENAI_BASE_URL": model.base_url,
        "OPENAI_MODEL": "scripted",
        "MAX_TURNS": "2",
        "MAX_QUEUED_PER_USER": "1000",
    }
    with serving(**named) as made:
        until(lambda: is_ready(made), made.written)
        yield made


def run(served: Served, code: str) -> str:
    """What a program prints that runs beside the site."""
    words = [sys.executable, "manage.py", "shell", "--no-imports", "-c", code]
    done = subprocess.run(words, cwd=ROOT, env=served.environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_memory_is_bounded_under_every_flood(served: Served) -> None:
    cookie = signed_in(served)
    path = f"/ws/conversations/{run(served, LONG_CONVERSATION)}/?after="
    floods: dict[str, Callable[[Wire], object]] = {
        "never-readers": lambda client: client.upgrade(f"{path}0", cookie),
        "message floods": lambda client: flood(client, f"{path}1000", cookie),
        "giant bodies": giant_body,
        "dripping headers": lambda client: client.pour(b"GET / HTTP/1.1\r\nX-Drip: ", 1),
    }
    print(f"\nat the start: {memory(served):.0f} MiB")  # noqa: T201
    for names in [[name] for name in floods] if SOAK else [list(floods)]:
        most = most_under(served, [floods[name] for name in names])
        print(f"{MANY} {' and as many '.join(names)}: {most:.0f} MiB")  # noqa: T201
    assert memory(served, "VmHWM") < BOUND


def most_under(served: Served, begin: list[Callable[[Wire], object]]) -> float:
    """MiB at the most so far, once so many clients have done each at once and are gone."""
    with ExitStack() as stack, ThreadPoolExecutor(MANY * len(begin)) as people:
        doing = [
            people.submit(tried, each, stack.enter_context(wire(served)))
            for each in begin
            for _ in range(MANY)
        ]
        for each in doing:
            each.result()
        until(lambda: connections(served) == 0, lambda: f"{connections(served)} connections")
    return memory(served, "VmHWM")


def tried(begin: Callable[[Wire], object], client: Wire) -> None:
    with suppress(OSError, IndexError):  # it was cut off, before it was answered or after
        begin(client)


def flood(client: Wire, path: str, cookie: str) -> None:
    client.upgrade(path, cookie)
    client.pour(text_frame("x" * (MAX_MESSAGE - 10)), 50)


def giant_body(client: Wire) -> None:
    client.say("POST /accounts/login/ HTTP/1.1", f"Content-Length: {400 * MIB}")
    client.pour(bytes(MIB), 400)


def test_a_person_may_have_so_many_tabs_and_no_more(served: Served, person: Person) -> None:
    person.sign_in(served.link)
    path = f"/ws/conversations/{person.begin(served.address, 'Hello', uuid.uuid4())}/"
    cookie = "; ".join(f"{each.key}={each.value}" for each in person.session.cookie_jar)
    clients: list[Wire] = []
    with ExitStack() as stack:
        for _ in range(MAX_SOCKETS_PER_USER):
            clients.append(stack.enter_context(wire(served)))
            assert clients[-1].upgrade(path, cookie) == 101
            assert b"Too many tabs" not in answer(clients[-1])
            for client in clients:
                client.pour(pong(), 1)
        with wire(served) as late:
            assert late.upgrade(path, cookie) == 101
            (_kind, sentence), (_close, code) = late.frames()
            assert b"Too many tabs" in sentence
            assert int.from_bytes(code[:2]) == CLOSE_TOO_MANY
    until(lambda: is_let_in(served, path, cookie), served.written)


def is_let_in(served: Served, path: str, cookie: str) -> bool:
    with wire(served) as client:
        assert client.upgrade(path, cookie) == 101
        return b"Too many tabs" not in answer(client)


def answer(client: Wire) -> bytes:
    """The first thing that the site says to a page that asks what it lacks."""
    client.pour(text_frame('{"type": "have"}'), 1)
    return next(client.frames())[1]


def test_one_owners_flood_keeps_no_other_waiting(
    served: Served, person: Person, model: ScriptedModel
) -> None:
    """Many new conversations at once, more than the worker can take: another's turn comes next."""
    records = Records(f"sqlite:///{served.data / 'db.sqlite3'}")
    person.sign_in(served.link)
    with ThreadPoolExecutor(8) as hands:
        begun = list(hands.map(lambda n: person.begin(served.address, f"{n}", uuid.uuid4()), range(MANY)))
        assert all(begun)
        with Person() as other:
            other.sign_in(f"{served.address}/sign-in/{run(served, STRANGER)}/")
            asked = uuid.uuid4()
            began = time.monotonic()
            other.begin(served.address, "And me?", asked)
            until(lambda: not records.started_with(asked)[0].is_active, served.written, seconds=FAIR)
            waiting = len(records.active())
        print(f"another's turn ended after {time.monotonic() - began:.1f} s; {waiting} waited")  # noqa: T201
    assert waiting > 2, "the flood was over before"
    records.close()
