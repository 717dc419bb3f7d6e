"""A workspace's quota."""

from __future__ import annotations

from pathlib import Path

import pytest

from chat.agent.sandbox import Sandbox, SandboxLimits
from chat.agent.tool import ToolError
from chat.agent.tools import workspace_tools
from chat.agent.workspace import Quota, Workspace, WorkspaceError

KIB = 1024


@pytest.fixture
def small(tmp_path: Path) -> Workspace:
    """A workspace limited to 1 MiB and five files and folders."""
    return Workspace.create(tmp_path / "workspaces" / "small", Quota(size=1024 * KIB, files=5))


def test_what_fits_is_written(small: Workspace) -> None:
    for number in range(5):
        small.write(f"{number}", b"x" * 100 * KIB)
    assert small.read("4").size == 100 * KIB


def test_bytes_beyond_it_are_refused(small: Workspace) -> None:
    small.write("a", b"x" * 700 * KIB)
    with pytest.raises(WorkspaceError, match=r"holds 0\.7 MiB and may hold 1; 0\.7 MiB more do not fit"):
        small.write("b", b"x" * 700 * KIB)
    assert small.look(".").names == ["a"]  # type: ignore[union-attr]
    (small.path / "a").unlink()
    small.write("b", b"x" * 700 * KIB)


def test_files_beyond_it_are_refused(small: Workspace) -> None:
    for number in range(4):
        small.write(f"folder/{number}", b"")
    with pytest.raises(WorkspaceError, match="holds 5 files and folders and may hold 5"):
        small.write("folder/more", b"")


async def test_the_model_reads_why(small: Workspace) -> None:
    tools = {tool.name: tool for tool in workspace_tools(small, None)}
    with pytest.raises(ToolError, match=r"Error: The workspace holds 0\.0 MiB and may hold 1; 1\.1 MiB more"):
        await tools["write_file"].call({"path": "a", "content": "x" * 1100 * KIB})


async def test_a_command_that_fills_it_is_killed_and_says_why(small: Workspace) -> None:
    limits = SandboxLimits(workspace_bytes=1024 * KIB, workspace_files=5)
    done = await Sandbox(limits).run("for i in $(seq 99); do echo > $i; done; sleep 60", small)
    assert "delete some" in done.note
    assert done.seconds < 30
    with pytest.raises(WorkspaceError, match="Delete what is not needed"):
        small.write("more", b"")


async def test_a_command_that_was_quick_enough_is_told_too(small: Workspace) -> None:
    tools = {tool.name: tool for tool in workspace_tools(small, Sandbox())}
    ran = await tools["bash"].call({"command": "head -c 2000000 /dev/zero > large; echo done"})
    assert ran.text.startswith(
        "done\n[The workspace holds 1.9 MiB and may hold 1. Delete what is not needed.]"
    )
    ran = await tools["bash"].call({"command": "rm large"})
    assert ran.text == "(no output)"
