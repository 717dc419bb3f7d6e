"""The tests of this folder again, on PostgreSQL."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.postgres import postgres

HERE = Path(__file__)
ROOT = HERE.parents[2]


def test_postgresql_finds_the_same() -> None:
    with postgres() as address:
        command = [sys.executable, "-m", "pytest", "tests/search", f"--ignore={HERE}", "-q"]
        ran = subprocess.run(
            [*command, "-p", "tests.models.on_postgres", "-p", "no:cacheprovider"],
            env={**os.environ, "TESTS_DATABASE_URL": address},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=600,
        )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "skipped" not in ran.stdout
