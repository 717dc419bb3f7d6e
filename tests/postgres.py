"""A PostgreSQL server of the tests' own: in a folder that is thrown away, on a Unix socket in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

OPTIONS = "-c listen_addresses='' -c fsync=off -c synchronous_commit=off -c full_page_writes=off"


@contextmanager
def postgres() -> Iterator[str]:
    """A running server's DATABASE_URL, to a user who may make databases."""
    with postgres_server() as server:
        yield server.address


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A running server, which may be stopped and started."""
    folder = Path(tempfile.mkdtemp(prefix="agentsite-postgres-"))
    server = PostgresServer(folder)
    try:
        server.make()
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


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
        self._run("initdb", "-D", self.data, "-A", "trust", "-U", "tests", "-E", "UTF8", "--no-sync")

    def start(self) -> None:
        log = str(self.folder / "log")
        options = f"{OPTIONS} -k {self.folder}"
        self._run("pg_ctl", "start", "-w", "-D", self.data, "-l", log, "-o", options)

    def stop(self) -> None:
        """End it at once, as a power cut does."""
        if Path(self.data, "postmaster.pid").exists():
            self._run("pg_ctl", "stop", "-w", "-D", self.data, "-m", "immediate")

    def _run(self, name: str, *words: str) -> None:
        ran = subprocess.run(
            [_program(name), *words],
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
