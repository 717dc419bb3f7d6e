"""Which tests share a process when several run side by side: those of a file, and all that need a browser."""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling

BROWSER = "tests/browser/"


class SideBySide(LoadFileScheduling):
    """Hands out files. Tests in a browser stay together: they share a Chromium and the sites they look at."""

    def _split_scope(self, nodeid: str) -> str:
        return BROWSER if nodeid.startswith(BROWSER) else super()._split_scope(nodeid)
