"""Whether the site is up, and what is broken when it cannot work."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client

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


@pytest.mark.django_db
def test_a_site_that_works_says_so(client: Client) -> None:
    for where in ("/healthz", "/readyz"):
        response = client.get(where)
        assert (response.status_code, response.content, response["Content-Type"]) == (
            200,
            b"ok\n",
            "text/plain",
        )


def test_everything_that_is_broken_is_named(closed: str, tmp_path: Path) -> None:
    nowhere = f"sqlite:///{tmp_path}/no/such/folder/db.sqlite3"
    assert asked(REDIS_URL=closed, DATABASE_URL=nowhere) == [
        "/healthz 200 ok",
        "/readyz 503 database: OperationalError|channel layer: no answer",
    ]


def test_a_channel_layer_that_hangs_is_named(silent: str) -> None:
    assert asked(REDIS_URL=silent) == ["/healthz 200 ok", "/readyz 503 channel layer: no answer"]
