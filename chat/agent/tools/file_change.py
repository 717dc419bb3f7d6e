"""What a change of a file adds to the call's record: the text before and after."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from chat.agent.tool import ToolError
from chat.agent.workspace import Content, WorkspaceError, relative

_MAX_BYTES = 256 * 1024  # of each side


def change_detail(path: str, before: Content | None, after: str) -> dict[str, Any]:
    """The `detail` of a write: `path` in the workspace, `before` (None for a new file) and `after`.

    Both texts are cut at 256 KiB; `cut` says that one was. `binary` is true if the old file was not text;
    then `before` is empty.
    """
    old = before.data if before else None
    new = after.encode()
    cut = len(new) > _MAX_BYTES or (old is not None and len(old) > _MAX_BYTES)
    detail = {"path": relative(path), "before": None, "after": _cut_text(new), "cut": cut}
    if old is not None:
        detail |= {"before": _cut_text(old)} if _is_text(old) else {"before": "", "binary": True}
    return detail


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False


def _cut_text(data: bytes) -> str:
    return data[:_MAX_BYTES].decode(errors="ignore")  # the cut may split a character


def encoded(argument: str, text: str) -> bytes:
    """A text argument as UTF-8; raises ToolError for characters that a text file cannot hold."""
    if "\0" in text:
        raise ToolError(f"Error: {argument} contains a NUL character; only text can be written.")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ToolError(f"Error: {argument} contains a character that cannot be written as UTF-8.") from None


T = TypeVar("T")


async def in_workspace(work: Callable[..., T], *arguments: object) -> T:
    try:
        return await asyncio.to_thread(work, *arguments)
    except WorkspaceError as error:
        raise ToolError(f"Error: {error}") from error
