"""The edit_file tool."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from chat.agent.tool import Tool, ToolResult, tool
from chat.agent.tools.file_change import change_detail, encoded, in_workspace
from chat.agent.tools.read_state import ReadState
from chat.agent.workspace import Content, Workspace, WorkspaceError


def edit_file_tool(workspace: Workspace, seen: ReadState | None = None) -> Tool:
    seen = seen or ReadState()

    @tool
    async def edit_file(
        path: Annotated[str, Field(description="The file: relative to the workspace, or /workspace/...")],
        old_text: Annotated[
            str, Field(description="The exact text to replace, whitespace and line breaks included.")
        ],
        new_text: Annotated[str, Field(description="What stands there afterwards; may be empty.")],
        replace_all: Annotated[
            bool, Field(description="Replace every occurrence, not just a single one.")
        ] = False,
    ) -> ToolResult:
        """Replace a piece of text in an existing text file.

        Use it for changes to a part of a file. `old_text` must match the file exactly and, unless
        `replace_all` is true, exactly once: take in a line or two around the place to make it unique. Read
        the file first. Nothing is changed when the text does not match, or when the file is not as you last
        read or wrote it; then read it again.
        """
        for name, text in (("old_text", old_text), ("new_text", new_text)):
            encoded(name, text)
        before, after, times = await in_workspace(
            _edit, workspace, seen, path, old_text, new_text, replace_all
        )
        text = f"Edited {path}: {times} place{'' if times == 1 else 's'} replaced."
        return ToolResult(text, change_detail(path, before, after) | seen.note(path, after.encode()))

    async def foresee(path: str, old_text: str, new_text: str, replace_all: bool) -> dict[str, Any]:
        before, after, _times = await in_workspace(
            _edited, workspace, seen, path, old_text, new_text, replace_all
        )
        return change_detail(path, before, after)

    return replace(edit_file, foresee=foresee)


def _edit(
    workspace: Workspace, seen: ReadState, path: str, old: str, new: str, everywhere: bool
) -> tuple[Content, str, int]:
    before, after, times = _edited(workspace, seen, path, old, new, everywhere)
    workspace.write(path, after.encode(), expected=before)
    return before, after, times


def _edited(
    workspace: Workspace, seen: ReadState, path: str, old: str, new: str, everywhere: bool
) -> tuple[Content, str, int]:
    """The file before, its text after the edit, and the number of replacements."""
    before = workspace.read(path)
    text = before.text()
    seen.check(path, before.data)
    times = _matches(path, text, old, new, everywhere)
    return before, text.replace(old, new), times


def _matches(path: str, text: str, old: str, new: str, everywhere: bool) -> int:
    if not old:
        raise WorkspaceError("old_text is empty; to write a whole file use write_file.")
    if old == new:
        raise WorkspaceError("old_text and new_text are the same, so nothing would change.")
    times = text.count(old)
    if times == 0:
        hint = _hint(text, old)
        raise WorkspaceError(
            f"old_text was found 0 times in {path}; it must match exactly.{hint} Read the file again."
        )
    if times > 1 and not everywhere:
        raise WorkspaceError(
            f"old_text was found {times} times in {path}; it must match exactly once. "
            "Take in more of the text around the place, or set replace_all."
        )
    return times


def _hint(text: str, old: str) -> str:
    if old.replace("\r\n", "\n") in text.replace("\r\n", "\n"):
        return r" Its lines end with \r\n."
    if " ".join(old.split()) in " ".join(text.split()):
        return " Its spaces or line breaks differ."
    return ""
