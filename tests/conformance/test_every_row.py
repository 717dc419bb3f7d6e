"""The list of deviations has no row without a scenario."""

from __future__ import annotations

import importlib
from pathlib import Path

LAST_ROWS = {"A": 19, "B": 12, "C": 5, "D": 10}
MODULES = [path.stem for path in sorted(Path(__file__).parent.glob("test_*.py")) if path != Path(__file__)]
PLAYED = {
    scenario.row
    for module in MODULES
    for scenario in importlib.import_module(f"tests.conformance.{module}").SCENARIOS
}


def test_every_row_is_played() -> None:
    rows = {f"{family}{row}" for family, last in LAST_ROWS.items() for row in range(1, last + 1)}
    assert rows <= PLAYED
