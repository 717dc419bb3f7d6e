"""The list of deviations has no row without a scenario."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

ROWS = [
    f"{family}{row}"
    for family, last in (("A", 19), ("B", 12), ("C", 5), ("D", 10))
    for row in range(1, last + 1)
]
MODULES = [path.stem for path in sorted(Path(__file__).parent.glob("test_*.py")) if path != Path(__file__)]
PLAYED = {
    scenario.row
    for module in MODULES
    for scenario in importlib.import_module(f"tests.conformance.{module}").SCENARIOS
}


@pytest.mark.parametrize("row", ROWS)
def test_a_row_is_played(row: str) -> None:
    assert row in PLAYED
