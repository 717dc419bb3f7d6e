"""Two web processes, two workers, PostgreSQL and Redis: one site."""

from __future__ import annotations

import threading
import uuid
from functools import partial
from pathlib import Path

import pytest

from chat.demo.reply import Reply
from chat.models import Turn
from tests.faults.conftest import SOAK
from tests.faults.machines import machines
from tests.faults.person import Person, Tab
from tests.live.site import article
from tests.model_server import ScriptedModel
from tests.postgres import postgres
from tests.serving import until

STALLED = Reply(text="It has begun, and goes on.", piece=6, stall_after=3)


def stopped_page(person: Person, address: str) -> str:
    until(lambda: 'data-status="stopped"' in person.get(address))
    return person.get(address)


def agrees(tab: Tab, turn: Turn, page: str) -> bool:
    return tab.shown(turn.pk) == article(page, turn)


def test_seen_over_one_web_process_and_stopped_over_the_other(
    tmp_path: Path, model: ScriptedModel, person: Person
) -> None:
    gate = threading.Event()
    model.script(Reply(text="It has begun, and it ends.", piece=6, stall_after=3, gate=gate), STALLED)
    with postgres() as database, machines(tmp_path, model, database, webs=2) as site:
        one, two = (web.address for web in site.webs)
        person.sign_in(site.webs[0].link)
        person.sign_in(site.webs[1].link)
        conversation = person.begin(one, "Begin", uuid.uuid4())
        assert conversation
        tab = person.open(two, conversation)
        tab.until("It has")
        gate.set()
        until(lambda: site.records.turns(conversation)[0].status == "completed")
        tab.until('data-status="idle"')
        second = tab.send("Again")
        until(lambda: tab.accepted(second))
        [turn] = site.records.started_with(second)
        other = person.open(one, conversation)
        other.until(f'id="turn-{turn.pk}"')
        until(lambda: len(model.requests) == 2)
        person.post(f"{two}/conversations/{conversation}/stop/")
        for seen, address in ((tab, one), (other, two)):
            page = stopped_page(person, f"{address}/conversations/{conversation}/")
            until(partial(agrees, seen, turn, page))
        model.wait_for_disconnects(1)


def test_a_frozen_worker_writes_nothing_when_it_wakes(
    tmp_path: Path, model: ScriptedModel, person: Person
) -> None:
    """Its lease runs out, the other worker takes the turn, and the fence keeps the first one off."""
    gate = threading.Event()
    model.script(
        Reply(text="By the frozen one.", piece=6, stall_after=3, gate=gate), Reply(text="By the other.")
    )
    with machines(tmp_path, model, workers=1) as site:
        person.sign_in(site.webs[0].link)
        conversation = person.begin(site.webs[0].address, "Begin", uuid.uuid4())
        assert conversation
        tab = person.open(site.webs[0].address, conversation)
        tab.until("By the")
        frozen, other = site.workers
        frozen.freeze()
        other.start()
        until(lambda: site.records.turns(conversation)[0].status == "completed")
        [before] = site.records.turns(conversation)
        gate.set()
        frozen.wake()
        until(lambda: "was taken from" in frozen.written(), frozen.written)
        [after] = site.records.turns(conversation)
        page = person.get(f"{site.webs[0].address}/conversations/{conversation}/")
        until(partial(agrees, tab, after, page))
    texts = [message.text for message in after.messages.all()]
    assert texts == ["Begin", "By the other."]
    assert (after.ended_at, after.fence, after.crash_count) == (before.ended_at, before.fence, 1)


@pytest.mark.parametrize("database", ["postgres", "sqlite"] if SOAK else ["postgres"])
def test_many_turns_are_each_taken_once(
    tmp_path: Path, model: ScriptedModel, person: Person, database: str
) -> None:
    """Two workers claim the same turns; the model is asked once for each."""
    model.answer = lambda request: Reply(text="Once.")
    with postgres() as address, machines(tmp_path, model, address if database == "postgres" else "") as site:
        person.sign_in(site.webs[0].link)
        begun = [person.begin(site.webs[0].address, f"Turn {n}", uuid.uuid4()) for n in range(12)]
        until(lambda: not site.records.active(), site.workers[0].written)
        turns = [turn for each in begun if each for turn in site.records.turns(each)]
    assert [turn.status for turn in turns] == ["completed"] * 12
    assert {turn.fence for turn in turns} == {1}
    assert len(model.requests) == 12
    assert len({turn.worker for turn in turns}) <= 2
