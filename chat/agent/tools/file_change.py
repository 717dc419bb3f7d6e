"""What a change of a file leaves for the record: the text before and after."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from chat.agent.tool import ToolError
from chat.agent.workspace import Content, WorkspaceError, relative

_KEPT = 256 * 1024  # bytes of each side


def change_detail(path: str, before: Content | None, after: str) -> dict[str, Any]:
    """The `detail` of a write: `path` beneath the workspace, `before` (None for a new file) and `after`.

    Both texts are cut at 256 KiB; `cut` says that at least one of them was. `binary` is there, and true, when
    the file was no text before; then `before` is empty.
    """
    old = before.data if before else None
    new = after.encode()
    cut = len(new) > _KEPT or (old is not None and len(old) > _KEPT)
    detail = {"path": relative(path), "before": None, "after": _kept(new), "cut": cut}
    if old is not None:
        detail |= {"before": _kept(old)} if _is_text(old) else {"before": "", "binary": True}
    return detail


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False


def _kept(data: bytes) -> str:
    return data[:_KEPT].decode(errors="ignore")  # the cut may go through a character


def encoded(argument: str, text: str) -> bytes:
    """A text argument as UTF-8; raises ToolError for what no text file can hold."""
    if "\0" in text:
        raise ToolError(f"Error: {argument} contains a NUL character; only text can be written.")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ToolError(f"Error: {argument} contains a character that cannot be written as UTF-8.") from None


Done = TypeVar("Done")


async def done(work: Callable[..., Done], *words: object) -> Done:
    """What the work gives, off the event loop; raises ToolError for what the workspace refuses."""
    try:
        return await asyncio.to_thread(work, *words)
    except WorkspaceError as error:
        raise ToolError(f"Error: {error}") from error
