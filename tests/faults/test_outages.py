"""Redis and PostgreSQL go away during a turn and come back; nobody restarts anything by hand."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chat.demo.reply import Reply
from chat.models import Turn
from tests.faults.conftest import SLOWER, SOAK
from tests.faults.machines import Machines, RedisServer, machines
from tests.faults.person import Person, Tab
from tests.faults.records import Records
from tests.live.site import article
from tests.model_server import ScriptedModel
from tests.postgres import PostgresServer, postgres_server
from tests.serving import Served, until

HEALED = 10.0 * SLOWER  # seconds


def stay(server: RedisServer) -> None:
    """It is back already."""


OUTAGES: dict[str, tuple[Callable[[RedisServer], None], Callable[[RedisServer], None]]] = {
    "killed": (RedisServer.kill, RedisServer.start),
    "frozen": (RedisServer.freeze, RedisServer.wake),
    "flushed": (RedisServer.flush, stay),
}


class Gates:
    """A model whose every reply waits in its middle for the test."""

    def __init__(self, model: ScriptedModel) -> None:
        self.model = model
        self.gate = threading.Event()

    def shut(self) -> None:
        self.gate = threading.Event()
        self.model.script(Reply(text="It has begun, and it ends.", piece=6, stall_after=3, gate=self.gate))


@pytest.fixture
def gates(model: ScriptedModel) -> Gates:
    return Gates(model)


def test_redis_away_delays_screens_and_loses_nothing(
    tmp_path: Path, model: ScriptedModel, gates: Gates, person: Person
) -> None:
    with machines(tmp_path, model, workers=1) as site:
        person.sign_in(site.webs[0].link)
        gates.shut()
        conversation = person.begin(site.webs[0].address, "Begin", uuid.uuid4())
        assert conversation
        tab = person.open(site.webs[0].address, conversation)
        tab.until("It has")
        gates.gate.set()
        until(lambda: not site.records.active())
        for name, (go, come_back) in OUTAGES.items():
            gates.shut()
            turn = through_outage(site, tab, gates, go, come_back)
            until(lambda: tab.socket)
            healed = time.monotonic()
            page = person.get(f"{site.webs[0].address}/conversations/{conversation}/")
            until(lambda turn=turn, page=page: tab.shown(turn.pk) == article(page, turn), seconds=HEALED)  # type: ignore[misc]
            print(f"Redis {name}: screens heal {time.monotonic() - healed:.1f} s after")  # noqa: T201


def through_outage(
    site: Machines,
    tab: Tab,
    gates: Gates,
    go: Callable[[RedisServer], None],
    come_back: Callable[[RedisServer], None],
) -> Turn:
    """A turn that begins before Redis goes, and one that begins and ends while it is away."""
    first = tab.send("Through the outage")
    until(lambda: tab.accepted(first))
    gates.model.wait_for_requests(len(gates.model.requests) or 1)
    until(lambda: started(site, first))
    go(site.redis)
    gates.gate.set()
    until(lambda: site.records.started_with(first)[0].status == "completed", site.workers[0].written)
    gates.shut()
    gates.gate.set()
    second = tab.send("While it is away")
    until(lambda: site.records.started_with(second) and not site.records.active(), site.workers[0].written)
    [turn] = site.records.started_with(second)
    assert turn.status == "completed"
    come_back(site.redis)
    return turn


def started(site: Machines, client_id: uuid.UUID) -> bool:
    turns = site.records.started_with(client_id)
    return bool(turns) and any(message.role == "assistant" for message in turns[0].messages.all())


@pytest.fixture
def on_postgres(tmp_path: Path, model: ScriptedModel) -> Iterator[tuple[PostgresServer, Served]]:
    with postgres_server() as server:
        named = {"OPENAI_BASE_URL": model.base_url, "OPENAI_MODEL": "scripted"}
        served = Served(tmp_path / "data", DATABASE_URL=server.address, **named)
        served.start()
        yield server, served
        served.kill()


@pytest.mark.parametrize("noticed", [False, True])
def test_postgresql_restarted_during_a_turn(
    on_postgres: tuple[PostgresServer, Served],
    model: ScriptedModel,
    gates: Gates,
    person: Person,
    noticed: bool,
) -> None:
    """It ends, or is taken up again; also where the worker could not even write down that it failed."""
    server, served = on_postgres
    records = Records(server.address)
    person.sign_in(served.link)
    gates.shut()
    conversation = person.begin(served.address, "Begin", uuid.uuid4())
    assert conversation
    tab = person.open(served.address, conversation)
    tab.until("It has")
    model.answer = lambda request: Reply(text="Said anew.")
    server.stop()
    gates.gate.set()
    until(lambda: not noticed or "OperationalError" in served.written(), served.written)
    server.start()
    back = time.monotonic()
    for _ in range(20):
        person.get(f"{served.address}/conversations/{conversation}/")
    until(lambda: not records.active(), served.written, seconds=HEALED)
    print(f"PostgreSQL: the turn ended {time.monotonic() - back:.1f} s after")  # noqa: T201
    [turn] = records.turns(conversation)
    assert turn.status in ("completed", "failed", "interrupted")
    until(lambda: tab.socket)
    more = tab.send("And now?")
    until(lambda: tab.accepted(more) and not records.active(), served.written)
    [turn] = records.started_with(more)
    assert turn.status == "completed"
    page = person.get(f"{served.address}/conversations/{conversation}/")
    until(lambda: tab.shown(turn.pk) == article(page, turn), seconds=HEALED)
    records.close()


@pytest.mark.parametrize("seconds", [0, 17, 60] if SOAK else [0])
def test_postgresql_restarted_while_nothing_runs(
    on_postgres: tuple[PostgresServer, Served], person: Person, seconds: float
) -> None:
    """Every connection that was kept is dead; no request meets one, however long it took."""
    server, served = on_postgres
    person.sign_in(served.link)
    for _ in range(5):
        person.get(f"{served.address}/conversations/")
    server.stop()
    time.sleep(seconds)  # the outage itself
    server.start()
    for _ in range(20):
        person.get(f"{served.address}/conversations/")
