"""The record that a change would leave, before it is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chat.agent import Tool, ToolError, tool
from chat.agent.tools import workspace_tools
from chat.agent.workspace import Workspace

EDIT = {"path": "a.txt", "old_text": "two", "new_text": "2"}


@pytest.fixture
def tools(tmp_path: Path) -> dict[str, Tool]:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    return {made.name: made for made in workspace_tools(Workspace(tmp_path), None)}


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write_file", {"path": "new.txt", "content": "text\n"}),
        ("write_file", {"path": "a.txt", "content": "text\n"}),
        ("edit_file", EDIT),
    ],
)
async def test_it_is_what_the_call_then_leaves_and_changes_nothing(
    tools: dict[str, Tool], tmp_path: Path, name: str, arguments: dict[str, Any]
) -> None:
    before = texts(tmp_path)
    foreseen = await tools[name].foreseen(arguments)
    assert texts(tmp_path) == before
    left = (await tools[name].call(arguments)).detail
    assert foreseen == {key: left[key] for key in foreseen}
    assert {"path", "before", "after", "cut"} <= set(foreseen)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("edit_file", {**EDIT, "old_text": "three"}),
        ("edit_file", {**EDIT, "path": "../a.txt"}),
        ("edit_file", {"path": "a.txt"}),
        ("write_file", {"path": "a.txt", "content": "nul\x00"}),
        ("write_file", ["a.txt"]),
    ],
)
async def test_what_would_fail_is_not_foreseen(tools: dict[str, Tool], name: str, arguments: Any) -> None:
    with pytest.raises(ToolError):
        await tools[name].foreseen(arguments)


async def test_a_tool_need_not_tell() -> None:
    @tool
    async def double(number: int) -> str:
        """Double a number."""
        return str(2 * number)

    assert await double.foreseen({"number": 2}) == {}
