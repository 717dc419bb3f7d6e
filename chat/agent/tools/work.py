"""Work on the files of a workspace, as a tool does it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from chat.agent.tool import ToolError
from chat.agent.workspace import WorkspaceError

Done = TypeVar("Done")


async def done(work: Callable[..., Done], *words: object) -> Done:
    """What the work gives, off the event loop; raises ToolError for what the workspace refuses."""
    try:
        return await asyncio.to_thread(work, *words)
    except WorkspaceError as error:
        raise ToolError(f"Error: {error}") from error
