"""A site to run commands on, with the demo model or a scripted one."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.management.site import Site
from tests.model_server import ScriptedModel
from tests.serving import until


@pytest.fixture
def site(transactional_db: Any, tmp_path: Path) -> Iterator[Site]:
    """A site whose demo model answers."""
    made = Site(tmp_path / "data")
    yield made
    made.close()


@pytest.fixture
def scripted(site: Site, model_server: ScriptedModel) -> ScriptedModel:
    """The model of that site from now on."""
    site.settings |= {
        "OPENAI_BASE_URL": model_server.base_url,
        "OPENAI_MODEL": "scripted",
        "OPENAI_API_KEY": "key",
    }
    return model_server


@pytest.fixture
def redis_url() -> Iterator[str]:
    """A Redis of the test's own."""
    port = free_port()
    words = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    until(lambda: _listens(port), lambda: "redis-server does not listen")
    yield f"redis://127.0.0.1:{port}"
    server.terminate()
    server.wait()


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        return int(bound.getsockname()[1])


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
