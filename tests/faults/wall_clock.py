"""A wall clock that is set while processes run: how far it is ahead stands in the file that WALL_CLOCK names.

Within a process it is whatever Python reads as the time of day; the monotonic clock is left alone, as no
administrator can set that one. (libfaketime does it from outside, but Debian's breaks `time.sleep`, and has
threads that wait for one another spin.)
"""

from __future__ import annotations

import datetime
import os
import time
from pathlib import Path
from typing import Any

from django.utils import timezone

HOUR = 3600


class WallClock:
    """The clock of whichever processes have its `surroundings` in their environment."""

    surroundings: dict[str, Any]

    def __init__(self, file: Path) -> None:
        self.file = file
        self.set(0)
        self.surroundings = {
            "WALL_CLOCK": str(file),
            "DJANGO_SETTINGS_MODULE": "tests.faults.wall_clock_settings",
        }

    def set(self, hours: int) -> None:
        """So many hours ahead of the true time from now on."""
        self.hours = hours
        fresh = self.file.with_suffix(".new")
        fresh.write_text(f"{hours * HOUR}")
        fresh.replace(self.file)  # never seen half written


def install() -> None:
    """Have this process go by the clock, before anything has taken hold of the true one."""
    file = Path(os.environ["WALL_CLOCK"])
    true_time = time.time

    def wall_time() -> float:
        return true_time() + int(file.read_text())

    def wall_now() -> datetime.datetime:
        return datetime.datetime.fromtimestamp(wall_time(), datetime.UTC)

    time.time = wall_time
    timezone.now = wall_now
