"""The write_file tool."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from chat.agent.tool import Tool, ToolResult, tool
from chat.agent.tools.file_change import change_detail, encoded, in_workspace
from chat.agent.tools.read_state import ReadState
from chat.agent.workspace import Content, Workspace, WorkspaceError


def write_file_tool(workspace: Workspace, seen: ReadState | None = None) -> Tool:
    seen = seen or ReadState()

    @tool
    async def write_file(
        path: Annotated[str, Field(description="The file: relative to the workspace, or /workspace/...")],
        content: Annotated[str, Field(description="The whole new text of the file.")],
    ) -> ToolResult:
        """Write a whole text file: make a new one, or replace everything in an existing one.

        Use it for new files and for rewriting a file completely; to change a part of a file use edit_file,
        which needs less text and cannot lose the rest. Missing parent folders are made. The file is
        replaced at once or not at all. At most 2 MiB, UTF-8.
        """
        data = encoded("content", content)
        before = await in_workspace(workspace.write, path, data)
        detail = change_detail(path, before, content) | seen.note(path, data)
        what = "Replaced" if before else "Created"
        return ToolResult(f"{what} {path} ({_size_text(content)}).", detail)

    async def foresee(path: str, content: str) -> dict[str, Any]:
        encoded("content", content)
        return await in_workspace(_preview, workspace, path, content)

    return replace(write_file, foresee=foresee)


def _preview(workspace: Workspace, path: str, content: str) -> dict[str, Any]:
    return change_detail(path, _current(workspace, path), content)


def _current(workspace: Workspace, path: str) -> Content | None:
    """The file's content; None if it cannot be read, most likely because it does not exist."""
    try:
        return workspace.read(path)
    except WorkspaceError:
        return None


def _size_text(content: str) -> str:
    lines = content.count("\n") + (not content.endswith("\n") and content != "")
    return f"{lines} line{'' if lines == 1 else 's'}, {len(content.encode())} bytes"
