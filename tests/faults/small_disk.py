"""A served site whose data folder is a small disk of its own, which the test fills and empties.

The disk is in memory, and seen by the site alone: bubblewrap mounts it, for root and for anybody else.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.serving import PATIENCE, Served

SIZE = 24 * 1024 * 1024
PAGE = 4096


class SmallDisk(Served):
    """The site, and its disk."""

    def __init__(self, data: Path, **surroundings: str) -> None:
        super().__init__(data, **surroundings)
        data.mkdir()
        disk = ["--size", str(SIZE), "--tmpfs", str(data)]
        self.around = ["bwrap", "--dev-bind", "/", "/", *disk, "--die-with-parent", "--"]

    def stop(self) -> None:
        """End it in order; bubblewrap itself would pass no signal on."""
        os.kill(self.site, signal.SIGTERM)
        assert self.process.wait(PATIENCE) == 0, self.written()

    @property
    def site(self) -> int:
        """The process id of the site, which bubblewrap waits for."""
        pid = self.process.pid
        return int(Path(f"/proc/{pid}/task/{pid}/children").read_text())

    @property
    def disk(self) -> Path:
        """The data folder, as it is seen from outside."""
        return Path(f"/proc/{self.site}/root{self.data}")

    @contextmanager
    def full(self) -> Iterator[None]:
        """Not a page is free within; what the site frees is taken, too."""
        ballast = self.disk / "ballast"
        emptied = threading.Event()
        filling = threading.Thread(target=_keep_full, args=(ballast, emptied))
        with ballast.open("wb", buffering=0) as file:
            _fill(file.fileno())
        filling.start()
        try:
            yield
        finally:
            emptied.set()
            filling.join()
            ballast.unlink()


def _keep_full(ballast: Path, emptied: threading.Event) -> None:
    with ballast.open("ab", buffering=0) as file:
        while not emptied.is_set():
            _fill(file.fileno())
            time.sleep(0.005)


def _fill(file: int) -> None:
    with contextlib.suppress(OSError):  # ENOSPC, at last
        while True:
            os.write(file, bytes(16 * PAGE))
    with contextlib.suppress(OSError):
        while True:
            os.write(file, bytes(PAGE))
