"""The read_file tool."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated

from pydantic import Field

from chat.agent.pictures import HEAD, MAX_BYTES, Picture, image_type
from chat.agent.tool import Tool, ToolError, ToolResult, tool
from chat.agent.tools.read_state import ReadState
from chat.agent.workspace import FILE_LIMIT, Content, Folder, Workspace, WorkspaceError

_FAULTS = {
    "large": "the picture has become too large",
    "damaged": "the picture is damaged or cut off",
    "full": "this conversation keeps no more pictures",
}
_OUTPUT_LIMIT = 64 * 1024  # characters: more would crowd out the rest of the model's context


# Stores a picture and returns it in the form for the model.
Keep = Callable[[str, bytes], Picture]


def read_file_tool(workspace: Workspace, seen: ReadState | None = None, keep: Keep = Picture.of) -> Tool:
    seen = seen or ReadState()

    @tool(repeatable=True)
    async def read_file(
        path: Annotated[
            str, Field(description="File or folder: relative to the workspace, or /workspace/...")
        ],
        offset: Annotated[int, Field(description="First line to read, counted from 1.", ge=1)] = 1,
        limit: Annotated[int, Field(description="How many lines to read at most.", ge=1)] = 2000,
    ) -> ToolResult:
        """Read a text file, look at a picture, or list a folder.

        Use it before you change a file, and to look around: of a folder you get the names in it (hidden
        ones too, folders with a trailing slash); "." is the workspace itself. Lines come exactly as they
        are, without line numbers. At most 2000 lines and 64 KiB come at once; when there is more, a last
        line in square brackets says how to go on. A picture (PNG, JPEG, GIF or WebP, at most 4 MiB) follows
        the results for you to see, if you can. Files above 2 MiB and other binary files are refused.
        """
        try:
            content = await asyncio.to_thread(workspace.look, path)
            if isinstance(content, Content) and image_type(content.data[:HEAD]):
                return await asyncio.to_thread(_picture, workspace, content, keep)
            text = _shown(content, offset, limit)
            return ToolResult(text, seen.note(path, content.data) if isinstance(content, Content) else {})
        except WorkspaceError as error:
            raise ToolError(f"Error: {error}") from error

    return read_file


def _picture(workspace: Workspace, content: Content, keep: Keep) -> ToolResult:
    if content.size > MAX_BYTES:
        raise WorkspaceError(
            f"{content.path} is a picture of {content.size / 2**20:.1f} MiB, and 4 MiB is the most that can "
            "be shown. Make a smaller copy of it, and read that."
        )
    whole = content if content.size <= FILE_LIMIT else workspace.read(content.path, MAX_BYTES)
    picture = keep(content.path, whole.data)
    if picture.fault:
        raise WorkspaceError(f"{content.path} cannot be shown: {_FAULTS[picture.fault]}.")
    kind = picture.media_type.partition("/")[2].upper()
    text = f"{content.path} is a picture ({kind}, {picture.size / 1024:.1f} KiB). It follows these results."
    return ToolResult(text, {"pictures": [picture.about()]}, [picture])


def _shown(content: Content | Folder, offset: int, limit: int) -> str:
    lines = content.names if isinstance(content, Folder) else _lines(content.text())
    if not lines:
        return "(empty folder)" if isinstance(content, Folder) else "(empty file)"
    if offset > len(lines):
        raise WorkspaceError(f"offset {offset} is past the end: {content.path} has {len(lines)} lines.")
    return _page(lines, offset, limit)


def _lines(text: str) -> list[str]:
    """Lines as editors count them: only a line feed ends one, optional for the last."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _page(lines: list[str], offset: int, limit: int) -> str:
    chosen: list[str] = []
    room = _OUTPUT_LIMIT
    for line in lines[offset - 1 : offset - 1 + limit]:
        if len(line) > room and chosen:
            break
        chosen.append(line[:room])
        room -= len(line) + 1
    last = offset + len(chosen) - 1
    notes = []
    if len(lines[last - 1]) > len(chosen[-1]):
        notes.append(f"[line {last} cut after {_OUTPUT_LIMIT} of {len(lines[last - 1])} characters]")
    if last < len(lines):
        notes.append(f"[lines {offset}-{last} of {len(lines)}; go on with offset={last + 1}]")
    return "\n".join(chosen + notes)
