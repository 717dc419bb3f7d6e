"""Liveness and readiness."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client

from tests.serving import Served, serving, until

ROOT = Path(__file__).resolve().parents[2]
ASK = """
from django.test import Client
for where in ("/healthz", "/readyz"):
    response = Client(headers={"host": "localhost"}).get(where)
    print(where, response.status_code, "|".join(response.content.decode().splitlines()))
"""


def asked(**surroundings: str) -> list[str]:
    """What a site in these surroundings answers, a line each."""
    ran = subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", ASK],
        env={**os.environ, **surroundings},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def got(served: Served, where: str) -> tuple[int, str, str]:
    """Status, kind and text of the answer of a served site."""
    try:
        with urllib.request.urlopen(served.address + where, timeout=10) as response:
            return response.status, response.headers["Content-Type"], response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers["Content-Type"], error.read().decode()


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"redis://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def closed() -> str:
    """The address of a server that is not there."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"redis://127.0.0.1:{server.getsockname()[1]}"


def test_a_site_that_works_says_so() -> None:
    with serving() as served:
        until(lambda: got(served, "/readyz")[0] == 200)
        assert got(served, "/healthz") == (200, "text/plain", "ok\n")
        assert got(served, "/readyz") == (200, "text/plain", "ok\n")


@pytest.mark.django_db
def test_a_site_without_a_worker_says_so(client: Client) -> None:
    assert client.get("/healthz").status_code == 200
    began = time.monotonic()
    response = client.get("/readyz")
    assert (response.status_code, response.content) == (503, b"worker: no answer\n")
    assert time.monotonic() - began < 2


def test_everything_that_is_broken_is_named(closed: str, tmp_path: Path) -> None:
    nowhere = f"sqlite:///{tmp_path}/no/such/folder/db.sqlite3"
    assert asked(REDIS_URL=closed, DATABASE_URL=nowhere) == [
        "/healthz 200 ok",
        "/readyz 503 database: OperationalError|channel layer: no answer",
    ]


def test_a_channel_layer_that_hangs_is_named(silent: str) -> None:
    assert asked(REDIS_URL=silent) == ["/healthz 200 ok", "/readyz 503 channel layer: no answer"]
