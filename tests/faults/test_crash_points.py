"""The process dies ahead of each statement, commit and tool of a turn, and every promise holds."""

from __future__ import annotations

import random
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.conftest import SOAK
from tests.faults.crashing import CrashingSite
from tests.faults.person import Person
from tests.faults.work import work
from tests.model_server import ScriptedModel
from tests.postgres import postgres

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
