"""The site as a process of its own, as a person starts it: `manage.py serve`, with a data folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 60.0  # seconds that a start or an end may take on a busy machine
LINK = "Sign in: "


class Served:
    """A served site. `address` has no slash at its end; `link` is the sign-in link of the latest start."""

    address: str
    link: str
    process: subprocess.Popen[bytes]

    def __init__(self, data: Path, **surroundings: str) -> None:
        self.data = data
        self.log = data.with_suffix(".log")
        # Nothing else of the environment gets in, so a developer's key or database plays no part.
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        self.environment = {**kept, "DATA_DIR": str(data), "DEMO_PACE": "0.002", "DRAIN_SECONDS": "0"}
        self.environment |= surroundings
        self.port = 0
        self.around: list[
            str
        ] = []  # words before the command, which start it in surroundings of another kind

    def start(self) -> None:
        """Serve on a free port; after the first time, on the same one and with the same data."""
        command = [*self.around, sys.executable, "manage.py", "serve", "--bind", f"127.0.0.1:{self.port}"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )
        until(lambda: LINK in self.written() or self.process.poll() is not None, self.written)
        assert LINK in self.written(), self.written()
        self.link = self.written().partition(LINK)[2].split()[0]
        self.address = self.link.partition("/sign-in/")[0]
        self.port = int(self.address.rpartition(":")[2])

    def stop(self) -> None:
        """End it as an operator does; it is to leave in order."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE)
        assert code == 0, f"exit code {code}\n{self.written()}"
        assert "Traceback" not in self.written(), self.written()

    def kill(self) -> None:
        """End it as a power cut does."""
        self.process.kill()
        self.process.wait(PATIENCE)

    def written(self) -> str:
        """What it has written since its latest start."""
        return self.log.read_text(errors="replace")


@contextmanager
def serving(*, bare: bool = False, **surroundings: str) -> Iterator[Served]:
    """The site on a free loopback port with a data folder of its own, `surroundings` in its environment.

    It finds its tables made, as after a start, for making them takes seconds; a `bare` one makes them.
    """
    with tempfile.TemporaryDirectory(prefix="agentsite-served-") as folder:
        served = Served(Path(folder) / "data", **surroundings)
        if not bare and "DATABASE_URL" not in surroundings:
            served.data.mkdir()
            (served.data / "db.sqlite3").write_bytes(tables())
        served.start()
        try:
            yield served
        except BaseException:
            served.kill()
            raise
        served.stop()


@cache
def tables() -> bytes:
    """A database with all tables and nobody in it."""
    with tempfile.TemporaryDirectory(prefix="agentsite-tables-") as folder:
        environment = os.environ | {"DATA_DIR": folder, "DATABASE_URL": ""}
        command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
        subprocess.run(command, cwd=ROOT, env=environment, check=True)
        return (Path(folder) / "db.sqlite3").read_bytes()


def until(ready: Callable[[], object], describe: Callable[[], str] = str, seconds: float = PATIENCE) -> None:
    """Return once `ready` says so; raises AssertionError when that takes too long."""
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline, f"after {seconds:.0f} seconds: {describe() or 'not yet'}"
        time.sleep(0.02)
