"""The sample files of a demo workspace."""

from __future__ import annotations

import shutil
from pathlib import Path

SAMPLES = Path(__file__).parent / "samples"

# The one bug in shop.py, and its fix.
SHOP_FLAW = "    return price - percent\n"
SHOP_FIX = "    return price * (100 - percent) / 100\n"


def seed(directory: Path) -> None:
    """Copy the sample files into the directory, which is created if missing, unless it has files."""
    directory.mkdir(parents=True, exist_ok=True)
    if any(directory.iterdir()):
        return
    for sample in sorted(SAMPLES.iterdir()):
        shutil.copyfile(sample, directory / sample.name)
