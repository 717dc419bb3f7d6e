"""The files that a command changed are in its call's record."""

from __future__ import annotations

import os
from typing import Any

import pytest

from chat.agent.tool import Tool, ToolError
from chat.agent.workspace import Workspace


async def changed(tools: dict[str, Tool], command: str) -> Any:
    return (await tools["bash"].call({"command": command})).detail.get("changed")


async def test_made_changed_and_removed(tools: dict[str, Tool], workspace: Workspace) -> None:
    for path in ("kept", "old", "gone", "same"):
        workspace.write(path, b"text")
    command = "mkdir -p deep/er; echo 1 > deep/er/new; echo more >> old; rm gone; cat kept; chmod +x same"
    detail = (await tools["bash"].call({"command": command})).detail
    assert (detail["changed"], detail["removed"]) == (["deep/er/new", "gone", "old"], ["gone"])
    assert detail["created"] == ["deep/er/new"]
    assert await changed(tools, "cat old") is None


async def test_of_the_same_size_too(tools: dict[str, Tool], workspace: Workspace) -> None:
    workspace.write("old", b"text")
    assert await changed(tools, "printf TEXT > old") == ["old"]


async def test_a_command_that_fails_has_changed_things_too(tools: dict[str, Tool]) -> None:
    with pytest.raises(ToolError) as caught:
        await tools["bash"].call({"command": "touch made; false"})
    assert caught.value.detail["changed"] == ["made"]
    assert caught.value.detail["exit_code"] == 1


async def test_what_tools_make_by_the_thousand_is_left_out(tools: dict[str, Tool]) -> None:
    command = "mkdir .git src node_modules; touch .git/index src/a.py node_modules/b.js"
    assert await changed(tools, command) == ["src/a.py"]


async def test_twenty_are_named(tools: dict[str, Tool]) -> None:
    detail = (await tools["bash"].call({"command": "touch {100..350}"})).detail
    assert detail["changed"] == [str(number) for number in range(100, 120)]
    assert detail["changed_more"] == 231


async def test_of_very_many_files_nothing_is_told(tools: dict[str, Tool]) -> None:
    assert await changed(tools, "mkdir d; touch d/{1000..5997}") is not None, "4,999 with their folder"
    assert await changed(tools, "touch one-more") is None
    assert await changed(tools, "rm one-more d/2000") is None
    assert await changed(tools, "touch again; rm d/2001") == ["again", "d/2001"]


async def test_what_is_closed_is_not_looked_at(tools: dict[str, Tool]) -> None:
    await tools["bash"].call({"command": "mkdir -p d/e; touch d/a d/e/b"})
    assert await changed(tools, "chmod 0 d; touch seen") == ["seen"]
    assert await changed(tools, "chmod 700 d; touch d/a seen") == ["seen"]
    assert await changed(tools, "touch d/a") == ["d/a"]


async def test_only_files_count(tools: dict[str, Tool]) -> None:
    assert await changed(tools, "mkdir folder; ln -s folder link; mkfifo pipe; touch file") == ["file"]


async def test_a_name_that_is_no_text_is_left_out(tools: dict[str, Tool], workspace: Workspace) -> None:
    assert await changed(tools, r"touch $'\xff' 文件 'a b'") == ["a b", "文件"]
    assert b"\xff" in os.listdir(os.fsencode(workspace.path))


async def test_a_workspace_that_cannot_be_looked_at_costs_no_output(
    tools: dict[str, Tool], workspace: Workspace
) -> None:
    workspace.write("a", b"text")
    result = await tools["bash"].call({"command": "echo b > a; chmod 300 .; echo done"})
    assert (result.text, result.detail.get("changed")) == ("done", None)
    result = await tools["bash"].call({"command": "chmod 700 .; cat a"})
    assert (result.text, result.detail.get("changed")) == ("b", None)
