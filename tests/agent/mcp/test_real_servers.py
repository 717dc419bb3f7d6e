"""Two third-party servers from the registry."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from chat.agent.mcp import Program, Server, ServerError, server_tool
from chat.agent.mcp.stdio import HOME, SCRATCH
from chat.agent.workspace import Workspace
from tests.agent.mcp.conftest import Connect

READABLE = (sys.prefix, sys.base_prefix)


def program(name: str, folder: Path) -> Program:
    return Program((f"{sys.prefix}/bin/{name}",), folder / name, readable=READABLE)


async def test_the_time(tmp_path: Path, connect: Connect) -> None:
    connection = await connect(Server("time", program("mcp-server-time", tmp_path)))
    assert connection.fault is None
    assert connection.tools
    asked = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    tool = server_tool(connection, connection.tools["convert_time"])
    assert tool.name == "time__convert_time"
    assert set(tool.parameters["required"]) == set(asked)
    assert "T21:00:00+09:00" in (await tool.call(asked)).text
    with pytest.raises(ServerError, match="Nowhere"):
        await connection.call(connection.tools["get_current_time"], {"timezone": "Nowhere"})


async def test_git_on_its_own_folder(tmp_path: Path, connect: Connect) -> None:
    made = program("mcp-server-git", tmp_path)
    make_repository(made.folder / SCRATCH)
    connection = await connect(Server("git", made))
    assert connection.fault is None
    assert connection.tools
    log = await connection.call(connection.tools["git_log"], {"repo_path": HOME})
    assert "a first idea" in log
    with pytest.raises(ServerError):
        await connection.call(connection.tools["git_log"], {"repo_path": "/etc"})


def make_repository(folder: Path) -> None:
    """A repository with one commit, owned by the sandbox's user."""
    folder.mkdir(parents=True)
    who = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "a first idea"]):
        subprocess.run(["git", "-C", str(folder), *who, *words], check=True)
    Workspace.create(folder)
