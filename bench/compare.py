"""Two runs side by side: `python -m bench.compare OLD.json [NEW.json]`; NEW is the latest run's by default.

Each figure with the ratio of new to old, and both as multiples of the first floor of their own run: machines,
and how busy they were, differ from run to run.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from bench.budgets import TARGETS
from bench.site import ROOT
from bench.table import laid_out, number

HEADS = ["", "old", "new", "new/old", "target", "old/floor", "new/floor"]


def main() -> None:
    """Print the comparison."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("old", type=Path)
    reader.add_argument("new", type=Path, nargs="?", default=ROOT / "var" / "bench" / "live.json")
    given = reader.parse_args()
    old, new = (json.loads(path.read_text()) for path in (given.old, given.new))
    for name, run in (("old", old), ("new", new)):
        sys.stdout.write(f"{name}: {', '.join(f'{key} {value}' for key, value in run['about'].items())}\n")
    sys.stdout.write(laid_out(rows(old, new)))


def rows(old: dict[str, Any], new: dict[str, Any]) -> list[list[str]]:
    """The table's rows, in the order of the new run; what one of the runs lacks is left empty."""
    names = [*new["figures"], *(name for name in old["figures"] if name not in new["figures"])]
    return [HEADS, *(_row(name, old, new) for name in names)]


def _row(name: str, old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    before, after = old["figures"].get(name), new["figures"].get(name)
    ratio = f"{after / before:.2f}" if before and after is not None else ""
    floors = [_of_floor(name, run) for run in (old, new)]
    return [name, number(before), number(after), ratio, number(TARGETS.get(name)), *floors]


def _of_floor(name: str, run: dict[str, Any]) -> str:
    floors: list[dict[str, float]] = list(run["floors"].values())
    floor = floors[0].get(name) if floors else None
    value = run["figures"].get(name)
    return f"{value / floor:.1f}x" if floor and value is not None else ""


if __name__ == "__main__":
    main()
