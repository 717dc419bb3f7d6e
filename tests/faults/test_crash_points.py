"""The process dies ahead of each statement, commit and tool of a turn, and every promise holds."""

from __future__ import annotations

import random
import time
import traceback
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from chat.models import Turn
from tests.faults import promises
from tests.faults.conftest import SLOWER, SOAK
from tests.faults.crash_points import end_of_counting
from tests.faults.person import Person, Tab
from tests.faults.records import Records
from tests.faults.work import MORE, TASK, items, work
from tests.live.site import article
from tests.model_server import ScriptedModel
from tests.postgres import postgres
from tests.serving import Served, until

HEALED = 10.0 * SLOWER  # seconds after a restart in which everything is to be well again


class CrashingSite:
    """The site in a folder; every start may be given the point at which it is to die."""

    def __init__(self, folder: Path, model: ScriptedModel, person: Person, database: str = "") -> None:
        self.points = folder / "points"
        self.model = model
        self.person = person
        database = database or f"sqlite:///{folder / 'data' / 'db.sqlite3'}"
        self.served = Served(
            folder / "data",
            DATABASE_URL=database,
            OPENAI_BASE_URL=model.base_url,
            OPENAI_MODEL="scripted",
            DJANGO_SETTINGS_MODULE="tests.faults.crashing_settings",
            CRASH_LOG=str(self.points),
        )
        self.records = Records(database)
        self.passed: list[str] = []  # the points of the latest work

    def start(self, crash_at: int = 0) -> None:
        """Serve, to die at that point; 0 for none."""
        self.points.write_text("")
        self.crash_at = crash_at
        self.served.environment["CRASH_AT"] = str(crash_at)
        self.served.start()
        self.started_at = time.monotonic()
        self.person.sign_in(self.served.link)

    @property
    def died(self) -> bool:
        return self.served.process.poll() is not None

    def work(self, then: int) -> None:
        """Have the work done, dying on the way; serve again, to die at point `then`; check every promise."""
        client_id = uuid.uuid4()
        conversation = self.person.begin(self.served.address, TASK, client_id)
        tab = self.person.open(self.served.address, conversation) if conversation and not self.died else None
        until(lambda: self.died or (self._ended(client_id) and tab and tab.received), self.served.written)
        self.passed = end_of_counting(self.points)
        if self.died or len(self.passed) == self.crash_at:
            self.served.process.wait()
        else:
            self.served.kill()
        if conversation is None:
            self.start()  # it was not told of; the user sends it again, and that is not to be counted
            conversation = self.person.begin(self.served.address, TASK, client_id)
            assert conversation is not None
            self._heal(conversation, client_id, tab)
            self.served.kill()
            self.start(then)
        else:
            self.start(then)
            self._heal(conversation, client_id, tab)

    def _heal(self, conversation: uuid.UUID, client_id: uuid.UUID, tab: Tab | None) -> None:
        until(lambda: self._ended(client_id), lambda: f"{self.records.turns(conversation)}", HEALED)
        [turn] = self.records.turns(conversation)
        page = self._page(conversation)
        assert turn.status == "completed"
        self._check(conversation, [TASK], page)
        if tab:
            seen = tab
            until(lambda: seen.shown(turn.pk) == article(page, turn), seconds=HEALED)
        tab = tab or self.person.open(self.served.address, conversation)
        until(lambda: tab.socket, seconds=HEALED)
        more = tab.send(MORE)
        until(lambda: tab.accepted(more) and self._ended(more), self.served.written)
        self._check(conversation, [TASK, MORE], self._page(conversation))
        self.person.close(tab)  # else every later point has it come back as well

    def _check(self, conversation: uuid.UUID, said: list[str], page: str) -> None:
        turns = self.records.turns(conversation)
        promises.check_accepted(turns, said)
        promises.check_ended(turns)
        promises.check_traces(turns[0], self.served.data / "workspaces" / str(conversation))
        promises.check_list(page, turns, items(done=True))
        promises.check_page(page, turns)
        for request in self.model.requests:
            promises.check_history(request["messages"])

    def _page(self, conversation: uuid.UUID) -> str:
        return self.person.get(f"{self.served.address}/conversations/{conversation}/?from=all")

    def _ended(self, client_id: uuid.UUID) -> Turn | None:
        turns = self.records.started_with(client_id)
        assert len(turns) < 2, "one message started two turns"
        return turns[0] if turns and not turns[0].is_active else None


SAMPLE = 5  # points, where not all are tried
PARTS = 4 if SOAK else 1  # tests that share the points, so that several run at once


@pytest.fixture(params=["sqlite", "postgres"] if SOAK else ["sqlite"])
def site(
    request: pytest.FixtureRequest, tmp_path: Path, model: ScriptedModel, person: Person
) -> Iterator[CrashingSite]:
    model.answer = work
    if request.param == "sqlite":
        yield from served(CrashingSite(tmp_path, model, person))
    else:
        with postgres() as database:
            yield from served(CrashingSite(tmp_path, model, person, database))


def served(site: CrashingSite) -> Iterator[CrashingSite]:
    yield site
    if not site.died:
        site.served.kill()
    site.records.close()


@pytest.mark.parametrize("part", range(PARTS))
def test_a_process_may_die_at_any_point(site: CrashingSite, seed: int, part: int) -> None:
    site.start()
    site.work(then=0)  # to its end, and then the process dies
    points = len(site.passed)
    assert points > 60, "the whole turn is counted"
    every = range(1, points + 1)
    tried = list(every[part::PARTS]) if SOAK else sorted(random.Random(seed).sample(every, SAMPLE))
    violations = dict(violated(site, tried))
    print(f"{len(tried)} of {points} crash points, violations: {violations or 'none'}")  # noqa: T201
    assert not violations


def violated(site: CrashingSite, points: list[int]) -> Iterator[tuple[int, str]]:
    """The points at which a promise was broken, and how."""
    site.served.kill()
    site.start(points[0])
    for point, then in zip(points, [*points[1:], 0], strict=True):
        site.model.take_requests()
        began = time.monotonic()
        try:
            site.work(then)
        except AssertionError as broken:
            frames = traceback.format_tb(broken.__traceback__)
            yield point, f"{site.passed[-1:]}: {frames[-1]} {broken}"
            if not site.died:
                site.served.kill()
            site.start(then)
        print(f"point {point} {site.passed[-1:]}: {time.monotonic() - began:.1f} s")  # noqa: T201
