"""The files that a demo workspace starts with."""

from __future__ import annotations

import shutil
from pathlib import Path

SAMPLES = Path(__file__).parent / "samples"

# The one flaw in shop.py, and its cure.
SHOP_FLAW = "    return price - percent\n"
SHOP_FIX = "    return price * (100 - percent) / 100\n"


def seed(directory: Path) -> None:
    """Copy the sample files into the directory, made if missing; one that is not empty stays as it is."""
    directory.mkdir(parents=True, exist_ok=True)
    if any(directory.iterdir()):
        return
    for sample in sorted(SAMPLES.iterdir()):
        shutil.copyfile(sample, directory / sample.name)
