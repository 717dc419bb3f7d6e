"""`manage.py serve`: errors at the start, and cleanup."""

from __future__ import annotations

import os
import resource
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serving import ROOT, Served


def refused(data: Path, *words: str, **more: str) -> str:
    """What a start that fails says: one sentence, and no traceback."""
    done = subprocess.run(
        [sys.executable, "manage.py", "serve", *words],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "DATA_DIR": str(data), **more},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1, done.stdout
    assert "Traceback" not in done.stderr
    return done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize("more", [{}, {"SECRET_KEY": "x" * 60}])
def test_a_data_folder_that_cannot_be_is_named(tmp_path: Path, more: dict[str, str]) -> None:
    (tmp_path / "file").touch()
    said = refused(tmp_path / "file" / "data", **more)
    assert "DATA_DIR must be a folder that can be written to" in said
    assert said.endswith("Not a directory.")


@pytest.mark.parametrize("bind", ["8000", "127.0.0.1:http", "127.0.0.1:65536"])
def test_a_place_that_is_none_is_refused(tmp_path: Path, bind: str) -> None:
    assert "--bind takes HOST:PORT" in refused(tmp_path / "data", "--bind", bind)


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        assert f"{place} is taken. Choose another" in refused(tmp_path / "data", "--bind", place)


def test_a_start_allows_many_open_files_and_lets_go_of_sessions_that_are_over(tmp_path: Path) -> None:
    served = Served(tmp_path / "data", bare=True)
    served.around = ["prlimit", "--nofile=1024:4096", "--"]
    served.start()
    assert resource.prlimit(served.process.pid, resource.RLIMIT_NOFILE) == (4096, 4096)
    with sqlite3.connect(served.data / "db.sqlite3") as rows:
        rows.execute("INSERT INTO django_session VALUES ('old', '', '2001-01-01'), ('new', '', '2999-01-01')")
    served.stop()
    served.start()
    served.stop()
    with sqlite3.connect(served.data / "db.sqlite3") as rows:
        assert rows.execute("SELECT session_key FROM django_session").fetchall() == [("new",)]
