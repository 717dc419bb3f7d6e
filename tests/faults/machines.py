"""Several machines on this one: web processes, workers, Redis, and a database that they share."""

from __future__ import annotations

import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import redis

from tests.faults.records import Records
from tests.management.conftest import free_port
from tests.model_server import ScriptedModel
from tests.serving import PATIENCE, ROOT, Served, until


class RedisServer:
    """A Redis that keeps nothing, always on the same port."""

    def __init__(self) -> None:
        self.port = free_port()
        self.address = f"redis://127.0.0.1:{self.port}"

    def start(self) -> None:
        words = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self.process = subprocess.Popen(["redis-server", *words], stdout=subprocess.DEVNULL)
        until(self._listens, lambda: "redis-server does not listen")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def flush(self) -> None:
        """Have it forget everything, its listeners too."""
        with redis.Redis(port=self.port) as client:
            client.flushall()
            client.client_kill_filter(_type="pubsub")

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True


class Worker:
    """`manage.py runworker agent`, with the surroundings of a served site."""

    def __init__(self, site: Served, name: str) -> None:
        self.environment = dict(site.environment)
        self.log = site.data.with_suffix(f".{name}.log")

    def start(self) -> None:
        """Launch it, and wait until it takes turns."""
        self.launch()
        self.wait()

    def launch(self) -> None:
        command = [sys.executable, "manage.py", "runworker", "agent"]
        with self.log.open("ab") as log:
            self.began = log.tell()
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )

    def wait(self) -> None:
        until(
            lambda: "Taking turns" in self.written()[self.began :] or self.process.poll() is not None,
            self.written,
        )
        assert self.process.poll() is None, self.written()

    def stop(self) -> None:
        """Have it leave in order."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE) == 0, self.written()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def freeze(self) -> None:
        """Stop it at a moment when it is not writing: the lock of a SQLite file would stop all others too."""
        until(self._stops_without_a_lock, self.written)

    def wake(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def _stops_without_a_lock(self) -> bool:
        self.process.send_signal(signal.SIGSTOP)
        if can_be_written(self.environment["DATABASE_URL"]):
            return True
        self.wake()
        return False

    def written(self) -> str:
        return self.log.read_text(errors="replace")


class Machines:
    """Web processes without a worker inside, and workers beside them."""

    def __init__(self, folder: Path, model: str, database: str, more: dict[str, str]) -> None:
        self.data = folder / "data"
        database = database or f"sqlite:///{self.data / 'db.sqlite3'}"
        self.redis = RedisServer()
        surroundings = {
            "DATABASE_URL": database,
            "REDIS_URL": self.redis.address,
            "OPENAI_BASE_URL": model,
            "OPENAI_MODEL": "scripted",
            "WORKER": "none",
            **more,
        }
        self.webs = [Served(self.data, **surroundings) for _ in range(2)]
        for number, web in enumerate(self.webs):
            web.log = folder / f"web-{number}.log"
        self.workers = [Worker(self.webs[0], f"worker-{number}") for number in range(2)]
        self.records = Records(database)

    def close(self) -> None:
        """End whatever runs."""
        everything: list[RedisServer | Served | Worker] = [self.redis, *self.webs, *self.workers]
        for each in everything:
            if hasattr(each, "process") and each.process.poll() is None:
                each.kill()
        self.records.close()


def can_be_written(database: str) -> bool:
    """Whether nobody holds the lock of this SQLite file for a second."""
    path = database.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path, timeout=1, isolation_level=None)) as rows:
        try:
            rows.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        rows.execute("ROLLBACK")
    return True


@contextmanager
def machines(
    folder: Path, model: ScriptedModel | str, database: str = "", webs: int = 1, workers: int = 2, **more: str
) -> Iterator[Machines]:
    """So many of them at work, `more` in their environment."""
    address = model if isinstance(model, str) else model.base_url
    made = Machines(folder, address, database, more)
    try:
        made.redis.start()
        made.webs[0].start()  # alone, for it makes the tables
        for worker in made.workers[:workers]:
            worker.launch()
        for web in made.webs[1:webs]:
            web.start()
        for worker in made.workers[:workers]:
            worker.wait()
        yield made
    finally:
        made.close()
