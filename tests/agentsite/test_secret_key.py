"""The secret key: created once, private, shared by all processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from agentsite.private import kept_secret_key

ROOT = Path(__file__).resolve().parents[2]
AT_A_SIGN = """
import sys
from pathlib import Path
from agentsite.private import kept_secret_key
print(flush=True)
sys.stdin.read()
print(kept_secret_key(Path(sys.argv[1])), end="")
"""


def test_it_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "new" / "folder" / "secret_key"
    key = kept_secret_key(file)
    assert len(key) >= 50
    assert file.stat().st_mode & 0o777 == 0o600
    assert kept_secret_key(file) == key
    assert [found.name for found in file.parent.iterdir()] == ["secret_key"], "nothing is left over"


def test_every_site_has_another(tmp_path: Path) -> None:
    assert kept_secret_key(tmp_path / "a") != kept_secret_key(tmp_path / "b")


def test_processes_that_start_together_agree(tmp_path: Path) -> None:
    file = tmp_path / "data" / "secret_key"
    command = [sys.executable, "-c", AT_A_SIGN, str(file)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    started = [subprocess.Popen(command, cwd=ROOT, **pipes) for _ in range(6)]  # type: ignore[call-overload]
    for process in started:
        process.stdout.readline()
    for process in started:
        process.stdin.close()
    keys = {process.stdout.read() for process in started}
    assert [process.wait(30) for process in started] == [0] * 6
    assert keys == {file.read_text()}
    assert [found.name for found in file.parent.iterdir()] == ["secret_key"]


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(
        ImproperlyConfigured, match=r"^DATA_DIR must be a folder that can be written to; .+\.$"
    ):
        kept_secret_key(tmp_path / "file" / "secret_key")


@pytest.mark.parametrize("kept", ["", "too-short-a-secret\n"])
def test_a_key_that_could_be_guessed_is_refused(tmp_path: Path, kept: str) -> None:
    (tmp_path / "secret_key").write_text(kept)
    with pytest.raises(
        ImproperlyConfigured, match=r"^DATA_DIR must hold a secret_key of at least 20 "
    ) as caught:
        kept_secret_key(tmp_path / "secret_key")
    assert "too-short" not in str(caught.value)
