"""Processes are killed at random, or leave in order, while turns run one after the other: nothing is lost."""

from __future__ import annotations

import dataclasses
import random
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from chat.demo.reply import Reply, Request
from chat.models import Turn
from chat.models.turn_recovery import MAX_CRASHES
from tests.faults import promises
from tests.faults.conftest import SOAK
from tests.faults.machines import Machines, Worker, machines
from tests.faults.person import Person
from tests.faults.work import TASK, items, work
from tests.model_server import ScriptedModel
from tests.postgres import postgres
from tests.serving import Served, until

PARTS = 3 if SOAK else 1  # tests that share the kills, so that several run at once
KILLS = 50 if SOAK else 3  # of each
LEAVINGS = 20 if SOAK else 3
Process = Worker | Served
AT_ONCE = 3  # conversations that are begun between two restarts


def slow_work(request: Request) -> Reply:
    """The same work, so slow that a process may die in its middle."""
    return dataclasses.replace(work(request), delay=0.2, first_delay=0.2)


class Load:
    """Conversations that are begun on and on, and checked once they have ended."""

    def __init__(self, site: Machines, model: ScriptedModel, person: Person) -> None:
        self.site = site
        self.model = model
        self.person = person
        self.open: set[uuid.UUID] = set()
        self.crashes: list[int] = []
        person.sign_in(site.webs[0].link)

    def begin(self) -> None:
        """Begin some; each is sent until it is accepted, as a page does."""
        for _ in range(AT_ONCE):
            client_id = uuid.uuid4()
            until(lambda client_id=client_id: self._accepted(client_id), self.site.webs[0].written)  # type: ignore[misc]

    def check(self) -> None:
        """Check every promise of those that have ended; leave the others open."""
        for request in self.model.take_requests():
            promises.check_history(request["messages"])
        for conversation in list(self.open):
            turns = self.site.records.turns(conversation)
            if not turns[0].is_active:
                self._check(conversation, turns)
                self.open.remove(conversation)

    def finish(self) -> None:
        """Wait for all to end, and check them."""
        until(lambda: not self.site.records.active(), self._state)
        self.check()
        assert not self.open

    def _accepted(self, client_id: uuid.UUID) -> bool:
        conversation = self.person.begin(self.site.webs[0].address, TASK, client_id)
        if conversation:
            self.open.add(conversation)
        return conversation is not None

    def _check(self, conversation: uuid.UUID, turns: list[Turn]) -> None:
        [turn] = turns
        assert turn.status == "completed" or turn.crash_count == MAX_CRASHES, f"{turn}: {turn.status_message}"
        page = self.person.get(f"{self.site.webs[0].address}/conversations/{conversation}/")
        promises.check_accepted(turns, [TASK])
        promises.check_ended(turns)
        promises.check_traces(turn, self.site.data / "workspaces" / str(conversation))
        promises.check_page(page, turns)
        if turn.status == "completed":
            promises.check_list(page, turns, items(done=True))
        self.crashes.append(turn.crash_count)

    def _state(self) -> str:
        return "".join([f"{self.site.records.active()}", *(worker.written() for worker in self.site.workers)])


@pytest.fixture(params=["sqlite", "postgres"] if SOAK else ["sqlite"])
def load(
    request: pytest.FixtureRequest, tmp_path: Path, model: ScriptedModel, person: Person
) -> Iterator[Load]:
    model.answer = slow_work
    with postgres() as database:
        address = database if request.param == "postgres" else ""
        with machines(tmp_path, model, address, DRAIN_SECONDS="0.2") as site:
            yield Load(site, model, person)


@pytest.mark.parametrize("part", range(PARTS))
def test_random_kills_under_load(load: Load, seed: int, part: int) -> None:
    chance = random.Random(f"{seed} {part}")
    victims: list[Process] = [*load.site.workers, *load.site.workers, load.site.webs[0]]
    began = time.monotonic()
    for _ in range(KILLS):
        load.begin()
        victim = chance.choice(victims)
        time.sleep(chance.uniform(0, 1.5))  # any moment may be the one
        victim.kill()
        victim.start()
        load.check()
    load.finish()
    taken_up = sum(crashes > 0 for crashes in load.crashes)
    print(  # noqa: T201
        f"{KILLS} kills in {time.monotonic() - began:.0f} s, {len(load.crashes)} turns, "
        f"{taken_up} taken up again, violations: none"
    )


def test_workers_and_sites_that_leave_in_order_lose_nothing(load: Load) -> None:
    leaving: list[Process] = [load.site.workers[0], load.site.webs[0], load.site.workers[1]]
    for number in range(LEAVINGS):
        load.begin()
        leaving[number % 3].stop()
        leaving[number % 3].start()
        load.check()
    load.finish()
    assert set(load.crashes) == {0}, "whoever leaves in order has not died"
    print(f"{LEAVINGS} restarts in order, {len(load.crashes)} turns, violations: none")  # noqa: T201
