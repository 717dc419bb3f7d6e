"""What a turn and an open tab may cost in statements, connections and bytes, which no machine changes."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.budgets import LIMITS
from bench.live import Bench, serving_model
from bench.site import ROOT, Site

Measured = dict[str, float]


@pytest.fixture(scope="module")
def measured() -> Iterator[Measured]:
    """A text turn of 10 s shortened to 3 s, an agent's turn of ten rounds, and five idle tabs for 4 s."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as name,
        serving_model(Path(name)) as model,
        Site(ROOT, Path(name) / "site", model, prepared=False) as site,
    ):
        yield asyncio.run(Bench(model, short=True).counted(site))


@pytest.mark.parametrize("name", LIMITS)
def test_the_live_path_keeps_within_its_budget(measured: Measured, name: str) -> None:
    assert measured[name] <= LIMITS[name]


def test_every_turn_ended_and_every_token_came(measured: Measured) -> None:
    assert measured["text 1: tokens"] == 150
    assert measured["agent 1: tokens"] == 50
    assert measured["text 1: turns that did not end"] == measured["agent 1: turns that did not end"] == 0
