"""A PostgreSQL server of the tests' own: in a folder that is thrown away, on a Unix socket in it."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from urllib.parse import quote

from tests.serving import prepare

OPTIONS = "-c listen_addresses='' -c fsync=off -c synchronous_commit=off -c full_page_writes=off"


@contextmanager
def postgres() -> Iterator[str]:
    """A running server's DATABASE_URL, to a user who may make databases, with the site's tables made."""
    with postgres_server() as server:
        yield server.address


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """The same, which may be stopped and started."""
    folder = Path(tempfile.mkdtemp(prefix="agentsite-postgres-"))
    server = PostgresServer(folder)
    try:
        server.copy(pattern())
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


@cache
def pattern() -> Path:
    """The data of a server that has the site's tables, and nobody in them."""
    folder = Path(tempfile.mkdtemp(prefix="agentsite-postgres-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    server = PostgresServer(folder)
    server.make()
    server.start()
    with tempfile.TemporaryDirectory() as data:
        prepare(DATA_DIR=data, DATABASE_URL=server.address)
    server.stop("fast")
    return Path(server.data)


class PostgresServer:
    """PostgreSQL refuses to run as root, so root runs it as the user who has least."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = f"postgres://tests@{quote(str(folder), safe='')}/postgres"
        self.data = str(folder / "data")
        self.user = "nobody" if os.geteuid() == 0 else None
        if self.user:
            shutil.chown(folder, self.user)

    def make(self) -> None:
        self._run(
            _program("initdb"), "-D", self.data, "-A", "trust", "-U", "tests", "-E", "UTF8", "--no-sync"
        )

    def copy(self, data: Path) -> None:
        """Begin with the data of another, which has ended in order."""
        self._run("cp", "-a", str(data), self.data)

    def start(self) -> None:
        log = str(self.folder / "log")
        options = f"{OPTIONS} -k {self.folder}"
        self._run(_program("pg_ctl"), "start", "-w", "-D", self.data, "-l", log, "-o", options)

    def stop(self, mode: str = "immediate") -> None:
        """End it at once, as a power cut does; `fast` ends it in order."""
        if Path(self.data, "postmaster.pid").exists():
            self._run(_program("pg_ctl"), "stop", "-w", "-D", self.data, "-m", mode)

    def _run(self, *words: str) -> None:
        ran = subprocess.run(
            words,
            user=self.user,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
        assert ran.returncode == 0, ran.stderr


def _program(name: str) -> str:
    """Debian keeps the server's programs apart, by version; the newest one is taken."""
    kept = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda file: int(file.parts[4]))
    found = str(kept[-1]) if kept else shutil.which(name)
    assert found, f"{name} is missing: scripts/system-packages says how to get it"
    return found
