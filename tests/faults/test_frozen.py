"""PostgreSQL stands still in the middle of a turn and of requests, says nothing about it, and goes on."""

from __future__ import annotations

import os
import signal
import threading
import time
import urllib.request
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import pytest

from agentsite.guard import RESPONSE_SECONDS
from chat.demo.reply import Reply
from tests.faults.conftest import SLOWER, SOAK
from tests.faults.person import Person
from tests.faults.records import Records
from tests.live.site import article
from tests.model_server import ScriptedModel
from tests.postgres import PostgresServer, postgres_server
from tests.serving import Served, until

FROZEN = 40.0 if SOAK else 5.0  # seconds; the longer of them is longer than anybody is to wait for an answer
HEALED = 10.0 * SLOWER  # seconds
BOUND = RESPONSE_SECONDS + 5 * SLOWER  # that a request takes at most


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with postgres_server() as made:
        yield made


@pytest.fixture
def served(tmp_path: Path, server: PostgresServer, model: ScriptedModel) -> Iterator[Served]:
    named = {"OPENAI_BASE_URL": model.base_url, "OPENAI_MODEL": "scripted"}
    made = Served(tmp_path / "data", DATABASE_URL=server.address, **named)
    made.start()
    yield made
    made.kill()


@contextmanager
def frozen(server: PostgresServer) -> Iterator[None]:
    """All its processes stand still."""
    first = int(Path(server.data, "postmaster.pid").read_text().split()[0])
    os.kill(first, signal.SIGSTOP)  # it begins no others now
    others = [int(pid) for pid in Path(f"/proc/{first}/task/{first}/children").read_text().split()]
    for pid in others:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in [*others, first]:
            os.kill(pid, signal.SIGCONT)


def test_a_frozen_postgresql_delays_and_loses_nothing(
    server: PostgresServer, served: Served, model: ScriptedModel, person: Person
) -> None:
    gate = threading.Event()
    begun = Reply(text="It has begun, and it ends.", piece=6, stall_after=3, gate=gate)
    model.script(begun, Reply(text="That one, too."))
    records = Records(server.address)
    person.sign_in(served.link)
    conversation = person.begin(served.address, "Begin", uuid.uuid4())
    assert conversation
    address = f"{served.address}/conversations/{conversation}/"
    tab = person.open(served.address, conversation)
    tab.until("It has")
    with ThreadPoolExecutor(30) as people:
        with frozen(server):
            gate.set()
            asked = [people.submit(took, person, address) for _ in range(30)]
            late = tab.send("Sent meanwhile")
            give_up(person, address)
            time.sleep(FROZEN)  # the fault itself
            began = time.monotonic()
            assert urllib.request.urlopen(f"{served.address}/healthz", timeout=30).status == 200
            healthy_in = time.monotonic() - began
        thawed = time.monotonic()
        answers = [each.result() for each in asked]
    assert healthy_in < 2 * SLOWER
    assert max(seconds for seconds, _ in answers) < BOUND
    if '"later"' in str(tab.received):
        until(lambda: tab.socket)
        tab.send("Sent meanwhile", late)
    until(lambda: len(records.turns(conversation)) == 2 and not records.active(), served.written, HEALED)
    print(f"PostgreSQL frozen for {FROZEN:.0f} s: all ended {time.monotonic() - thawed:.1f} s after")  # noqa: T201
    print(f"pages took at most {max(seconds for seconds, _ in answers):.1f} s: {statuses(answers)}")  # noqa: T201
    turns = records.turns(conversation)
    assert [(turn.user_text, turn.status) for turn in turns] == [
        ("Begin", "completed"),
        ("Sent meanwhile", "completed"),
    ]
    assert turns[0].crash_count == 0
    assert tab.accepted(late)
    page = person.get(address)
    until(lambda: any(article(page, turns[1]) in frame for frame in tab.received), seconds=HEALED)
    records.close()


def give_up(person: Person, address: str) -> None:
    """Ask for a page, and leave before it comes."""

    async def leave() -> None:
        with pytest.raises(TimeoutError):
            await person.session.get(address, timeout=aiohttp.ClientTimeout(total=0.5))

    person._wait(leave())


def statuses(answers: list[tuple[float, int]]) -> dict[int, int]:
    found = [status for _seconds, status in answers]
    return {status: found.count(status) for status in sorted(set(found))}


def took(person: Person, address: str) -> tuple[float, int]:
    """How many seconds an answer took, and its status; one that is not the page says why in a sentence."""
    began = time.monotonic()
    status, page = person._wait(patient(person.session, address))
    assert status == 200 or "Database unavailable" in page or "is not responding" in page, page
    return time.monotonic() - began, status


async def patient(session: aiohttp.ClientSession, address: str) -> tuple[int, str]:
    async with session.get(address, timeout=aiohttp.ClientTimeout(total=60)) as answer:
        return answer.status, await answer.text()
