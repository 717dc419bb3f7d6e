"""The measured site: `manage.py serve` of a checkout, with users and counts of its statements."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from bench.processes import Child

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BATCH = 20  # least number of users enrolled at once

PREPARE = """
from django.core.management import call_command
from agentsite.static_files import collect
call_command("migrate", verbosity=0, interactive=False)
collect()
"""
ENROL = """
import json, sys
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
sessions = []
for name in NAMES:
    user, client = User.objects.create_user(name), Client()
    client.force_login(user)
    sessions.append(client.cookies[settings.SESSION_COOKIE_NAME].value)
print("enrolled " + json.dumps(sessions))
"""


@dataclass
class Counts:
    statements: int = 0
    transactions: int = 0
    connections: int = 0
    texts: Counter[str] = field(default_factory=Counter)

    def __sub__(self, earlier: Counts) -> Counts:
        return Counts(
            self.statements - earlier.statements,
            self.transactions - earlier.transactions,
            self.connections - earlier.connections,
            self.texts - earlier.texts,
        )


@dataclass
class Person:
    session: str

    @property
    def headers(self) -> dict[str, str]:
        secret = "b" * 32
        return {"Cookie": f"sessionid={self.session}; csrftoken={secret}", "X-CSRFToken": secret}


class Server(Protocol):
    address: str
    child: Child

    def enrol(self, count: int) -> list[Person]: ...

    def counts(self) -> Counts: ...


class Site:
    """A running checkout with its own data folder. A context manager.

    If `prepared`, tables and static files are created before the start. With `where`, statements are recorded
    with their origin. `more` is added to the site's environment.
    """

    def __init__(
        self,
        checkout: Path,
        folder: Path,
        model: str,
        *,
        prepared: bool = True,
        where: bool = False,
        **more: str,
    ) -> None:
        self.prepared = prepared
        self.checkout = checkout
        self.folder = folder
        self.counting = folder / "counts"
        self.data = folder / "data"
        venv_python = checkout / ".venv" / "bin" / "python"
        self.python = str(venv_python) if venv_python.exists() else sys.executable
        inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        self.environment = inherited | {
            "DATA_DIR": str(self.data),
            "OPENAI_BASE_URL": model,
            "OPENAI_MODEL": "bench",
            "OPENAI_API_KEY": "sk-bench-0123456789",
            "PYTHONUNBUFFERED": "1",
            **more,
        }
        self.counted = {
            "PYTHONPATH": str(HERE / "served"),
            "DJANGO_SETTINGS_MODULE": "counting_settings",
            "BENCH_COUNTS": str(self.counting),
            "BENCH_WHERE": str(int(where)),
        }
        self.enrolled = 0
        self.stock: list[Person] = []

    def __enter__(self) -> Site:
        self.counting.mkdir(parents=True)
        self.data.mkdir()
        if self.prepared:
            self.shell(PREPARE)
        command = [self.python, "manage.py", "serve", "--bind", "127.0.0.1:0"]
        self.started_at = time.monotonic()
        self.child = Child(command, self.checkout, self.folder / "site.log", self.environment | self.counted)
        try:
            self.address = self.child.line("Sign in: ").partition("/sign-in/")[0]
        except BaseException:
            self.child.__exit__()
            raise
        self.started_in = time.monotonic() - self.started_at
        return self

    def __exit__(self, *_: object) -> None:
        self.child.__exit__()

    def shell(self, code: str) -> str:
        """Run code in the checkout's Django shell; returns its output. Raises RuntimeError if it fails."""
        command = [self.python, "manage.py", "shell", "--no-imports", "-c", code]
        result = subprocess.run(
            command, cwd=self.checkout, env=self.environment, capture_output=True, text=True, check=False
        )
        if result.returncode:
            raise RuntimeError(result.stderr)
        return result.stdout

    def enrol(self, count: int) -> list[Person]:
        if len(self.stock) < count:
            self._enrol_more(max(count, BATCH))
        users, self.stock = self.stock[:count], self.stock[count:]
        return users

    def _enrol_more(self, count: int) -> None:
        names = [f"person-{self.enrolled + number}" for number in range(count)]
        self.enrolled += count
        output = self.shell(f"NAMES = {names!r}\n{ENROL}").partition("enrolled ")[2].splitlines()[0]
        self.stock += map(Person, json.loads(output))

    def counts(self) -> Counts:
        total = Counts()
        for path in self.counting.glob("*.sock"):
            counts = _read_counts(path)
            total.statements += counts["statements"]
            total.transactions += counts["transactions"]
            total.connections += counts["connections"]
            total.texts.update(counts["texts"])
        return total


def _read_counts(path: Path) -> dict[str, Any]:
    chunks = []
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        while chunk := connection.recv(2**16):
            chunks.append(chunk)
    counts: dict[str, Any] = json.loads(b"".join(chunks))
    return counts
