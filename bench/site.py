"""The site under measurement: `manage.py serve` of a checkout, with users, and counts of its statements."""

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
BATCH = 20  # users that are enrolled at once, at least

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
told = []
for name in NAMES:
    user, client = User.objects.create_user(name), Client()
    client.force_login(user)
    told.append(client.cookies[settings.SESSION_COOKIE_NAME].value)
print("enrolled " + json.dumps(told))
"""


@dataclass
class Counts:
    """Database statements (transactions' own among them) and connections opened, since a moment."""

    statements: int = 0
    transactions: int = 0
    connections: int = 0
    texts: Counter[str] = field(default_factory=Counter)

    def __sub__(self, before: Counts) -> Counts:
        return Counts(
            self.statements - before.statements,
            self.transactions - before.transactions,
            self.connections - before.connections,
            self.texts - before.texts,
        )


@dataclass
class Person:
    """A signed-in user."""

    session: str

    @property
    def headers(self) -> dict[str, str]:
        """What this user's browser sends with every request, forms included."""
        secret = "b" * 32
        return {"Cookie": f"sessionid={self.session}; csrftoken={secret}", "X-CSRFToken": secret}


class Place(Protocol):
    """What serves conversations over sockets: the site, or a floor."""

    address: str
    child: Child

    def enrol(self, count: int) -> list[Person]:
        """So many new users."""

    def counts(self) -> Counts:
        """What the database was asked so far."""


class Site:
    """A served checkout with a data folder of its own. A context manager.

    Tables and static files are made ahead of the start; if it is not `prepared`, the start makes them. With
    `where`, statements are noted with their origin. `more` goes into the site's environment.
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
        own = checkout / ".venv" / "bin" / "python"
        self.python = str(own) if own.exists() else sys.executable
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        self.environment = kept | {
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
        self.began = time.monotonic()
        self.child = Child(command, self.checkout, self.folder / "site.log", self.environment | self.counted)
        try:
            self.address = self.child.line("Sign in: ").partition("/sign-in/")[0]
        except BaseException:
            self.child.__exit__()
            raise
        self.started_in = time.monotonic() - self.began
        return self

    def __exit__(self, *_: object) -> None:
        self.child.__exit__()

    def shell(self, code: str) -> str:
        """What the code writes, run by the checkout's Django; raises RuntimeError when it fails."""
        command = [self.python, "manage.py", "shell", "--no-imports", "-c", code]
        done = subprocess.run(
            command, cwd=self.checkout, env=self.environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout

    def enrol(self, count: int) -> list[Person]:
        """So many new users, signed in."""
        if len(self.stock) < count:
            self._enrol_more(max(count, BATCH))
        given, self.stock = self.stock[:count], self.stock[count:]
        return given

    def _enrol_more(self, count: int) -> None:
        names = [f"person-{self.enrolled + number}" for number in range(count)]
        self.enrolled += count
        told = self.shell(f"NAMES = {names!r}\n{ENROL}").partition("enrolled ")[2].splitlines()[0]
        self.stock += map(Person, json.loads(told))

    def counts(self) -> Counts:
        """What its processes have asked of the database since they began."""
        total = Counts()
        for path in self.counting.glob("*.sock"):
            told = _told(path)
            total.statements += told["statements"]
            total.transactions += told["transactions"]
            total.connections += told["connections"]
            total.texts.update(told["texts"])
        return total


def _told(path: Path) -> dict[str, Any]:
    pieces = []
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(str(path))
        while piece := asking.recv(2**16):
            pieces.append(piece)
    told: dict[str, Any] = json.loads(b"".join(pieces))
    return told
