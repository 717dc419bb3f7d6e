"""The site as a process of its own, as a user starts it: `manage.py serve`, with a data folder."""

from __future__ import annotations

import atexit
import os
import shutil
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
PREPARED = (
    "from django.core.management import call_command; from agentsite.static_files import collect;"
    "call_command('migrate', verbosity=0); collect()"
)


class Served:
    """A served site. `address` has no slash at its end; `link` is the sign-in link of the latest start.

    Where its data folder is still to be made it finds tables and static files as after a start, for making
    them takes seconds; a `bare` one makes them.
    """

    address: str
    link: str
    process: subprocess.Popen[bytes]

    def __init__(self, data: Path, *, bare: bool = False, **surroundings: str) -> None:
        self.data = data
        self.bare = bare
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
        if not self.bare and not self.data.exists():
            self._prepare()
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

    def _prepare(self) -> None:
        self.data.mkdir()
        (self.data / "static").symlink_to(prepared() / "static")
        own = f"sqlite:///{self.data / 'db.sqlite3'}"
        if self.environment.get("DATABASE_URL", own) == own:
            shutil.copy(prepared() / "db.sqlite3", self.data)

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

    def shell(self, code: str) -> str:
        """What the code prints, run in the site's environment, where the models can be imported."""
        command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", code]
        ran = subprocess.run(command, cwd=ROOT, env=self.environment, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.strip()

    def written(self) -> str:
        """What it has written since its latest start."""
        return self.log.read_text(errors="replace")


@contextmanager
def serving(*, bare: bool = False, **surroundings: str) -> Iterator[Served]:
    """The site on a free loopback port with a data folder of its own, `surroundings` in its environment."""
    with tempfile.TemporaryDirectory(prefix="agentsite-served-") as folder:
        served = Served(Path(folder) / "data", bare=bare, **surroundings)
        served.start()
        try:
            yield served
        except BaseException:
            served.kill()
            raise
        served.stop()


@cache
def prepared() -> Path:
    """A data folder as after a start, with nobody in it."""
    folder = tempfile.mkdtemp(prefix="agentsite-prepared-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    prepare(DATA_DIR=folder, DATABASE_URL="")
    return Path(folder)


def prepare(**surroundings: str) -> None:
    """Make tables and static files, as a start does."""
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", PREPARED]
    subprocess.run(command, cwd=ROOT, env=os.environ | surroundings, check=True)


def until(ready: Callable[[], object], describe: Callable[[], str] = str, seconds: float = PATIENCE) -> None:
    """Return once `ready` says so; raises AssertionError when that takes too long."""
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline, f"after {seconds:.0f} seconds: {describe() or 'not yet'}"
        time.sleep(0.02)
