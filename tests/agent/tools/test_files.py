"""read_file, write_file and edit_file, as the model uses them."""

from __future__ import annotations

import os
from typing import Any

import pytest

from chat.agent.tool import Tool, ToolError, ToolResult
from chat.agent.tools import workspace_tools
from chat.agent.tools.read_state import ReadState
from chat.agent.workspace import FILE_LIMIT, Workspace

Tools = dict[str, Tool]


async def _call(tools: Tools, name: str, **arguments: Any) -> str:
    return (await tools[name].call(arguments)).text


async def _refused(tools: Tools, name: str, **arguments: Any) -> str:
    with pytest.raises(ToolError) as caught:
        await tools[name].call(arguments)
    assert str(caught.value).startswith("Error: ")
    return str(caught.value)


def test_the_tools_on_offer(tools: Tools) -> None:
    assert set(tools) == {"bash", "read_file", "write_file", "edit_file"}
    assert {name for name, tool in tools.items() if tool.repeatable} == {"read_file"}
    assert all(len(tool.description) > 200 for tool in tools.values())
    assert tools["read_file"].parameters["required"] == ["path"]


async def test_lines_come_as_they_are(tools: Tools, workspace: Workspace) -> None:
    workspace.write("file", "\tone\n\n  drei € \x0c\r\nend".encode())
    assert await _call(tools, "read_file", path="file") == "\tone\n\n  drei € \x0c\r\nend"
    assert await _call(tools, "read_file", path="/workspace/file", offset=2, limit=1) == (
        "\n[lines 2-2 of 4; go on with offset=3]"
    )


async def test_a_long_file_comes_in_pages(tools: Tools, workspace: Workspace) -> None:
    workspace.write("long", "".join(f"{n}\n" for n in range(1, 5001)).encode())
    page = (await _call(tools, "read_file", path="long")).split("\n")
    assert page[0] == "1"
    assert page[-2:] == ["2000", "[lines 1-2000 of 5000; go on with offset=2001]"]
    last = await _call(tools, "read_file", path="long", offset=4999)
    assert last == "4999\n5000"


async def test_wide_lines_are_bounded_too(tools: Tools, workspace: Workspace) -> None:
    workspace.write("wide", b"\n".join([b"x" * 50_000, b"y" * 50_000, b"z" * 100_000]))
    first = await _call(tools, "read_file", path="wide")
    assert first == "x" * 50_000 + "\n[lines 1-1 of 3; go on with offset=2]"
    third = await _call(tools, "read_file", path="wide", offset=3)
    assert third == "z" * 65_536 + "\n[line 3 cut after 65536 of 100000 characters]"


async def test_a_folder_is_listed(tools: Tools, workspace: Workspace) -> None:
    assert await _call(tools, "read_file", path=".") == "(empty folder)"
    for name in ("b.txt", ".hidden", "a/inner", "Z"):
        workspace.write(name, b"")
    (workspace.path / "link").symlink_to("a")
    (workspace.path / "two\nlines").touch()
    expected = [".hidden", "Z", "a/", "b.txt", "link", "two\ufffdlines"]
    assert (await _call(tools, "read_file", path=".")).split("\n") == expected
    assert await _call(tools, "read_file", path="a/") == "inner"


async def test_what_cannot_be_read(tools: Tools, workspace: Workspace) -> None:
    workspace.write("binary", b"\x7fELF\0\1")
    workspace.write("latin", "schön".encode("latin-1"))
    workspace.write("empty", b"")
    (workspace.path / "huge").touch()
    os.truncate(workspace.path / "huge", FILE_LIMIT + 1)
    assert await _call(tools, "read_file", path="empty") == "(empty file)"
    assert "gone does not exist" in await _refused(tools, "read_file", path="gone")
    assert "binary is a binary file (6 bytes)" in await _refused(tools, "read_file", path="binary")
    assert "latin is not UTF-8 text" in await _refused(tools, "read_file", path="latin")
    assert "huge has 2.0 MiB, and the file tools take 2 MiB at most" in await _refused(
        tools, "read_file", path="huge"
    )
    assert "outside the workspace" in await _refused(tools, "read_file", path="../../etc/passwd")
    workspace.write("short", b"1\n2\n")
    said = await _refused(tools, "read_file", path="short", offset=3)
    assert "offset 3 is past the end: short has 2 lines" in said
    assert "offset" in await _refused(tools, "read_file", path="short", offset=0)


async def test_a_new_file(tools: Tools, workspace: Workspace) -> None:
    result = await tools["write_file"].call({"path": "a/b.txt", "content": "one\ntwo"})
    assert result.text == "Created a/b.txt (2 lines, 7 bytes)."
    assert _without_state(result) == {"path": "a/b.txt", "before": None, "after": "one\ntwo", "cut": False}
    assert (workspace.path / "a" / "b.txt").read_bytes() == b"one\ntwo"


async def test_a_file_written_over(tools: Tools, workspace: Workspace) -> None:
    workspace.write("file", b"old\0\xff")
    result = await tools["write_file"].call({"path": "/workspace/file", "content": "new\n"})
    assert result.text == "Replaced /workspace/file (1 line, 4 bytes)."
    assert _without_state(result) == {
        "path": "file",
        "before": "",
        "binary": True,
        "after": "new\n",
        "cut": False,
    }


async def test_the_record_of_a_large_change_is_cut(tools: Tools) -> None:
    result = await tools["write_file"].call({"path": "file", "content": "€" * 100_000})
    assert result.detail["cut"] is True
    assert result.detail["after"] == "€" * (256 * 1024 // 3)


async def test_what_cannot_be_written(tools: Tools, workspace: Workspace) -> None:
    assert "NUL" in await _refused(tools, "write_file", path="file", content="a\0b")
    assert "UTF-8" in await _refused(tools, "write_file", path="file", content="\ud800")
    assert "2 MiB" in await _refused(tools, "write_file", path="file", content="x" * (FILE_LIMIT + 1))
    assert "outside" in await _refused(tools, "write_file", path="/etc/x", content="")
    assert list(workspace.path.iterdir()) == []


async def test_an_edit(tools: Tools, workspace: Workspace) -> None:
    workspace.write("file", b"one\ntwo\nthree\n")
    result = await tools["edit_file"].call({"path": "file", "old_text": "two\n", "new_text": ""})
    assert result.text == "Edited file: 1 place replaced."
    assert _without_state(result) == {
        "path": "file",
        "before": "one\ntwo\nthree\n",
        "after": "one\nthree\n",
        "cut": False,
    }
    assert workspace.read("file").data == b"one\nthree\n"


async def test_an_edit_keeps_the_ends_of_lines(tools: Tools, workspace: Workspace) -> None:
    workspace.write("file", "\ufeffone\r\ntwo\r\n".encode())
    await _call(tools, "edit_file", path="file", old_text="two\r\n", new_text="2\n")
    assert workspace.read("file").data == "\ufeffone\r\n2\n".encode()


async def test_an_edit_must_match_once_or_all(tools: Tools, workspace: Workspace) -> None:
    workspace.write("file", b"x = 1\ny = 1\r\nz = 1\n")
    said = await _refused(tools, "edit_file", path="file", old_text="= 1", new_text="= 2")
    assert "found 3 times in file; it must match exactly once" in said
    assert "found 0 times" in await _refused(tools, "edit_file", path="file", old_text="= 3", new_text="")
    assert r"end with \r\n" in await _refused(
        tools, "edit_file", path="file", old_text="y = 1\nz", new_text=""
    )
    assert "spaces" in await _refused(tools, "edit_file", path="file", old_text="x  =  1", new_text="")
    assert "old_text is empty" in await _refused(tools, "edit_file", path="file", old_text="", new_text="a")
    assert "the same" in await _refused(tools, "edit_file", path="file", old_text="x", new_text="x")
    assert workspace.read("file").data == b"x = 1\ny = 1\r\nz = 1\n"
    assert await _call(tools, "edit_file", path="file", old_text="= 1", new_text="= 2", replace_all=True) == (
        "Edited file: 3 places replaced."
    )


async def test_what_cannot_be_edited(tools: Tools, workspace: Workspace) -> None:
    workspace.write("binary", b"a\0b")
    (workspace.path / "folder").mkdir()
    for path, said in (("binary", "binary"), ("folder", "folder is a folder"), ("gone", "does not exist")):
        assert said in await _refused(tools, "edit_file", path=path, old_text="a", new_text="b")


async def test_arguments_that_do_not_fit(tools: Tools) -> None:
    assert "path" in await _refused(tools, "write_file", content="x")
    assert "lines" in await _refused(tools, "read_file", path="x", lines=3)


async def test_a_file_that_changed_since_it_was_read_is_not_edited(
    tools: Tools, workspace: Workspace
) -> None:
    workspace.write("file", b"speed = 1\n")
    await _call(tools, "read_file", path="file")
    workspace.write("file", b"speed = 1\nlimit = 2\n")
    edit = {"path": "/workspace/file", "old_text": "speed = 1", "new_text": "speed = 3"}
    assert "has changed since you last read or wrote it. Read the file again." in await _refused(
        tools, "edit_file", **edit
    )
    assert workspace.read("file").data == b"speed = 1\nlimit = 2\n"
    await _call(tools, "read_file", path="./file")
    await _call(tools, "edit_file", **edit)
    await _call(tools, "edit_file", path="file", old_text="speed = 3", new_text="speed = 4")
    await _call(tools, "write_file", path="file", content="speed = 5\n")
    await _call(tools, "edit_file", path="file", old_text="5", new_text="6")
    assert workspace.read("file").data == b"speed = 6\n"


async def test_what_a_command_changed_is_read_again_before_an_edit(tools: Tools) -> None:
    await _call(tools, "write_file", path="file", content="one\n")
    await _call(tools, "bash", command="echo two >> file")
    assert "has changed" in await _refused(tools, "edit_file", path="file", old_text="one", new_text="1")


async def test_the_same_content_again_is_no_change(tools: Tools, workspace: Workspace) -> None:
    await _call(tools, "write_file", path="file", content="one\n")
    workspace.write("file", b"one\n")
    await _call(tools, "edit_file", path="file", old_text="one", new_text="1")
    assert workspace.read("file").data == b"1\n"


async def test_what_was_seen_before_is_known_by_its_state(workspace: Workspace) -> None:
    before = {tool.name: tool for tool in workspace_tools(workspace, None)}
    workspace.write("file", b"one\n")
    detail = (await before["read_file"].call({"path": "file"})).detail
    workspace.write("file", b"one, and more\n")
    seen = ReadState({detail["path"]: detail["state"]})
    after = {tool.name: tool for tool in workspace_tools(workspace, None, seen)}
    assert "has changed" in await _refused(after, "edit_file", path="file", old_text="one", new_text="1")


def _without_state(result: ToolResult) -> dict[str, object]:
    return {name: value for name, value in result.detail.items() if name != "state"}
