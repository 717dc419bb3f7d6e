"""Served sites with a scripted model, a user at each, and a look into their rows."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any

import pytest

from tests.faults.person import Person
from tests.model_server import ScriptedModel

SOAK = bool(os.environ.get("SOAK"))
# How many times the promised seconds it may take: a soak has its machine to itself, three tests of a suite
# run at once.
SLOWER = 1 if SOAK else 3


@pytest.fixture(autouse=True)
def rows_of_others(django_db_blocker: Any) -> Iterator[None]:
    """These tests look into databases that other processes write."""
    with django_db_blocker.unblock():
        yield


@pytest.fixture
def seed() -> int:
    """What chance follows here; SEED repeats a run."""
    chosen = int(os.environ.get("SEED") or random.SystemRandom().randrange(10**6))
    print(f"\nSEED={chosen}")  # noqa: T201 (shown when a test fails, and in a soak)
    return chosen


@pytest.fixture
def person() -> Iterator[Person]:
    with Person() as made:
        yield made


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A model on a port of its own."""
    with ScriptedModel() as made:
        yield made
