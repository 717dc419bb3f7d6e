"""The clock is set by an hour, ahead and back, while turns run."""

from __future__ import annotations

import datetime
import re
import threading
import time
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from chat.demo.reply import Call, Reply
from chat.models import Turn
from tests.faults.conftest import SOAK
from tests.faults.machines import Machines, Worker, machines
from tests.faults.person import Person
from tests.faults.records import Records
from tests.faults.wall_clock import WallClock
from tests.live.site import article
from tests.model_server import ScriptedModel
from tests.serving import Served, serving, until

TAKEN_OVER = 30.0  # seconds, 8 of them the lease; by the clock it would be an hour
NEGATIVE = re.compile(r"[-\u2212]\s?\d[\d.,]* (?:ms|s)\b")


@pytest.fixture
def clock(tmp_path: Path) -> WallClock:
    return WallClock(tmp_path / "clock")


@pytest.fixture
def served(model: ScriptedModel, clock: WallClock) -> Iterator[Served]:
    named = {"OPENAI_BASE_URL": model.base_url, "OPENAI_MODEL": "scripted"}
    with serving(**named, **clock.surroundings) as made:
        yield made


def begun(site: Machines, person: Person) -> Turn:
    """A turn that one of two workers has begun to answer."""
    person.sign_in(site.webs[0].link)
    conversation = person.begin(site.webs[0].address, "Begin", uuid.uuid4())
    assert conversation
    person.open(site.webs[0].address, conversation).until("It has")
    [turn] = site.records.turns(conversation)
    return turn


def set_under(clock: WallClock, hours: int, records: Records, turn: Turn) -> None:
    """Set the clock while the turn runs, and return once its worker has renewed the lease twice by it."""
    clock.set(hours)
    for _ in range(2):
        [before] = records.turns(turn.conversation_id)
        until(lambda lease=before.lease_until: renewed(records, turn) != lease)


def renewed(records: Records, turn: Turn) -> datetime.datetime | None:
    return records.turns(turn.conversation_id)[0].lease_until


def test_no_turn_changes_hands_where_clocks_disagree(
    tmp_path: Path, model: ScriptedModel, person: Person, clock: WallClock
) -> None:
    """Two machines an hour apart, then two: by its own clock, one would find the other's lease long over."""
    gate = threading.Event()
    model.script(Reply(text="It has begun, and it ends.", piece=6, stall_after=3, gate=gate))
    ahead = WallClock(tmp_path / "clock-ahead")
    ahead.set(1)
    with machines(tmp_path, model, workers=1, **clock.surroundings) as site:
        turn = begun(site, person)
        site.workers[1].environment |= ahead.surroundings
        site.workers[1].start()
        for hours in (0, -1):
            set_under(clock, hours, site.records, turn)
        gate.set()
        until(lambda: not site.records.active(), site.workers[0].written)
        [after] = site.records.turns(turn.conversation_id)
        page = person.get(f"{site.webs[0].address}/conversations/{turn.conversation_id}/")
        [tab] = person.tabs
        until(lambda: tab.shown(turn.pk) == article(page, after))
    assert (after.status, after.fence, after.crash_count) == ("completed", 1, 0)
    assert len(model.requests) == 1
    assert tab.openings == 1


@pytest.mark.parametrize("hours", [1, -1] if SOAK else [1])
def test_a_turn_is_taken_over_as_soon_whatever_the_clock_says(
    tmp_path: Path, model: ScriptedModel, person: Person, clock: WallClock, hours: int
) -> None:
    """Its worker stands still; the clock was another when it renewed the lease for the last time."""
    model.script(Reply(text="It has begun.", piece=6, stall_after=3), Reply(text="By the other."))
    clock.set(hours)
    with machines(tmp_path, model, **clock.surroundings) as site:
        turn = begun(site, person)
        holder = next(worker for worker in site.workers if holds(worker, turn))
        holder.freeze()
        clock.set(0)
        frozen = time.monotonic()
        until(lambda: not site.records.active(), site.workers[0].written, seconds=TAKEN_OVER)
        print(f"clock set by {-hours:+d} h: taken over after {time.monotonic() - frozen:.1f} s")  # noqa: T201
        [after] = site.records.turns(turn.conversation_id)
    assert (after.status, after.crash_count) == ("completed", 1)


def holds(worker: Worker, turn: Turn) -> bool:
    return f":{worker.process.pid}:" in turn.worker


def test_a_site_goes_on_when_its_clock_is_set(
    served: Served, model: ScriptedModel, person: Person, clock: WallClock
) -> None:
    """Nobody is signed out, no socket ends, the newest stands first, no time is less than none."""
    wait = Call("bash", {"command": "until [ -e go ]; do sleep 0.05; done"})
    model.script(Reply(tool_calls=[wait]), Reply(text="It went."), Reply(text="Again."), Reply(text="Anew."))
    records = Records(f"sqlite:///{served.data / 'db.sqlite3'}")
    person.sign_in(served.link)
    conversation = person.begin(served.address, "Wait for it", uuid.uuid4())
    assert conversation
    tab = person.open(served.address, conversation)
    until(lambda: is_running(records, conversation), served.written)
    for hours in (1, -1):
        set_under(clock, hours, records, records.turns(conversation)[0])
    (served.data / "workspaces" / str(conversation) / "go").touch()
    until(lambda: not records.active(), served.written)
    more = tab.send("And now?")
    until(lambda: records.started_with(more) and not records.active(), served.written)
    newest = person.begin(served.address, "Begun last", uuid.uuid4())
    until(lambda: not records.active(), served.written)
    turns = records.turns(conversation)
    page = person.get(f"{served.address}/conversations/{conversation}/")
    for turn in turns:
        until(partial(lambda turn: tab.shown(turn.pk) == article(page, turn), turn))
        assert not NEGATIVE.search(article(page, turn))
    listing = person.get(f"{served.address}/conversations/")
    assert listing.index(str(newest)) < listing.index(str(conversation))
    assert [turn.status for turn in turns] == ["completed"] * 2
    assert [turn.fence for turn in turns] == [1, 1]
    assert tab.openings == 1
    records.close()


def is_running(records: Records, conversation: uuid.UUID) -> bool:
    [turn] = records.turns(conversation)
    return any(call.status == "running" for call in turn.tool_calls.all())
