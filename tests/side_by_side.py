"""Which tests share a process when several run side by side, and which begin."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdist.scheduler import LoadFileScheduling

BROWSER = "tests/browser/"
# What takes longest begins, or a process would be at it alone in the end.
LONGEST_FIRST = (BROWSER, "tests/faults/", "tests/models/test_on_postgres", "tests/search/test_on_postgres")


class SideBySide(LoadFileScheduling):
    """Hands out files. Tests in a browser stay together in halves, which share a Chromium and the sites."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        half = len(Path(file).stem) % 2  # as good as any other that stays the same
        return f"{BROWSER}{half}" if file.startswith(BROWSER) else file


def longest_first(items: list[pytest.Item]) -> None:
    """Put the files in the order in which they are handed out."""

    def place(item: pytest.Item) -> int:
        named = (number for number, start in enumerate(LONGEST_FIRST) if item.nodeid.startswith(start))
        return next(named, len(LONGEST_FIRST))

    items.sort(key=place)
