"""Compares two runs: `python -m bench.compare OLD.json [NEW.json]`; NEW is by default the latest run.

Shows each figure with the ratio of new to old, and both as multiples of the first floor of their own run,
because machines and their load differ between runs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.budgets import TARGETS
from bench.site import ROOT
from bench.table import format_rows, number

BEFORE = ROOT / "bench" / "before.json"  # from before the live path was rebuilt
HEADS = ["", "old", "new", "new/old", "target", "old/floor", "new/floor"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path, nargs="?", default=ROOT / "var" / "bench" / "live.json")
    arguments = parser.parse_args()
    old, new = (json.loads(path.read_text()) for path in (arguments.old, arguments.new))
    for name, run in (("old", old), ("new", new)):
        sys.stdout.write(f"{name}: {', '.join(f'{key} {value}' for key, value in run['about'].items())}\n")
    sys.stdout.write(format_rows(rows(old, new)))


def beside_before(figures: Mapping[str, Any], floors: Mapping[str, Any]) -> str:
    """These figures beside those from before the live path was rebuilt."""
    before = json.loads(BEFORE.read_text())
    before["figures"] = {name: value for name, value in before["figures"].items() if name in figures}
    return format_rows(rows(before, {"figures": figures, "floors": floors}))


def rows(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[list[str]]:
    """The table's rows, in the order of the new run. Missing values are empty."""
    names = [*new["figures"], *(name for name in old["figures"] if name not in new["figures"])]
    return [HEADS, *(_row(name, old, new) for name in names)]


def _row(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    before, after = old["figures"].get(name), new["figures"].get(name)
    ratio = f"{after / before:.2f}" if before and after is not None else ""
    floors = [_floor_ratio(name, run) for run in (old, new)]
    return [name, number(before), number(after), ratio, number(TARGETS.get(name)), *floors]


def _floor_ratio(name: str, run: Mapping[str, Any]) -> str:
    floors: list[dict[str, float]] = list(run["floors"].values())
    floor = floors[0].get(name) if floors else None
    value = run["figures"].get(name)
    return f"{value / floor:.1f}x" if floor and value is not None else ""


if __name__ == "__main__":
    main()
