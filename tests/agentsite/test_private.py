"""What other users of the machine can read of the site's data: nothing."""

from __future__ import annotations

import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentsite.private import private_folder
from tests.serving import Served, until

NOBODY = 65534
READ = """
cd / && ls "$1"
find "$1" -type f -readable
for name in db.sqlite3 db.sqlite3-wal db.sqlite3-shm secret_key old.log; do
    cat "$1/$name" >/dev/null && echo "$name"
done
"""
COMMAND = """
import asyncio
from chat.agent.sandbox import Sandbox
from chat.agent.tools import workspace_tools
from chat.files.conversation_workspace import open_workspace
from chat.models import Conversation, site_owner
workspace = open_workspace(Conversation.objects.create(owner=site_owner(), title="Test"))
bash = next(tool for tool in workspace_tools(workspace, Sandbox()) if tool.name == "bash")
asyncio.run(bash.call({"command": "mkdir made && echo done > made/file"}))
print(workspace.read("made/file").text().strip())
"""


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with tempfile.TemporaryDirectory(prefix="agentsite-private-") as folder:
        os.chmod(folder, 0o755)  # so that the data folder's own mode is what counts
        site = Served(Path(folder) / "data", bare=True)
        # As an earlier version left it, for everybody to read.
        site.data.mkdir()
        site.data.chmod(0o755)
        (site.data / "old.log").write_text("what happened")
        (site.data / "old.log").chmod(0o644)
        assert read_by_others(site.data) == ["old.log", f"{site.data}/old.log", "old.log"]
        site.start()
        until(lambda: (site.data / "db.sqlite3-wal").exists())
        yield site
        site.stop()


def read_by_others(data: Path) -> list[str]:
    """What a user without rights finds in the folder."""
    command = ["/bin/sh", "-c", READ, "sh", str(data)]
    ran = subprocess.run(command, user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, text=True)
    return ran.stdout.split()


def test_other_users_read_nothing(served: Served) -> None:
    assert {"db.sqlite3", "db.sqlite3-wal", "secret_key", "old.log"} <= set(os.listdir(served.data))
    assert read_by_others(served.data) == []


def test_commands_still_reach_their_workspace(served: Served) -> None:
    assert served.shell(COMMAND) == "done"
    assert read_by_others(served.data) == []


def test_only_what_others_could_do_is_taken_away(tmp_path: Path) -> None:
    (tmp_path / "program").write_text("#!/bin/sh")
    (tmp_path / "program").chmod(0o755)
    (tmp_path / "inside").mkdir(mode=0o755)
    (tmp_path / "elsewhere").symlink_to("/etc/passwd")
    before = os.stat("/etc/passwd").st_mode
    assert private_folder(tmp_path) == tmp_path
    assert stat.S_IMODE((tmp_path / "program").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "inside").stat().st_mode) == 0o711
    assert os.stat("/etc/passwd").st_mode == before
