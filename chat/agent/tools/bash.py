"""The bash tool."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from chat.agent.progress import report
from chat.agent.sandbox import Outcome, Output, Sandbox, SandboxError
from chat.agent.scan import Scan, Stamp, is_utf8, scan_workspace
from chat.agent.tool import Tool, ToolError, ToolResult, tool
from chat.agent.workspace import Workspace, WorkspaceError

_LIVE_HEAD, _LIVE_TAIL = 2 * 1024, 6 * 1024  # bytes


def bash_tool(workspace: Workspace, sandbox: Sandbox) -> Tool:
    """The tool that lets the model run shell commands in this workspace."""

    @tool
    async def bash(
        command: Annotated[str, Field(description="What to run, as one would type it into bash.")],
        timeout: Annotated[
            int, Field(description="Seconds after which it is killed, 600 at most.", ge=1, le=600)
        ] = 120,
    ) -> ToolResult:
        """Run a shell command and read what it prints.

        Use it to look around, search, build, run programs and tests. To read, write or change a single file
        use read_file, write_file and edit_file, which are safer. It starts in the workspace, /workspace,
        and only that and /tmp (emptied after each command) can be written; there is no network and no
        terminal to ask questions on. Every call is a fresh shell, and nothing keeps running after it: `cd`,
        variables and background programs do not last. Standard output and errors come together, the
        beginning and the end (24 KiB each) of a long one, then a line in square brackets if it failed,
        timed out or used too much.
        """
        try:
            async with sandbox.slot():
                look = await asyncio.to_thread(WorkspaceSnapshot, workspace)
                outcome = await sandbox.run(command, workspace, timeout, _tell)
                quota_excess = await asyncio.to_thread(workspace.quota_excess)
                changed = await asyncio.to_thread(look.changed)
        except (SandboxError, WorkspaceError) as error:
            raise ToolError(f"Error: {error}") from error
        text = _shown(outcome, quota_excess)
        detail = {"exit_code": outcome.exit_code, "seconds": round(outcome.seconds, 3)} | changed
        if not outcome.ok:
            raise ToolError(text, detail)
        return ToolResult(text, detail)

    return bash


def _tell(output: Output) -> None:
    """Show what was printed so far, less of it than in the end: it is sent again and again."""
    report(lambda: output.text(_LIVE_HEAD, _LIVE_TAIL))


def _shown(outcome: Outcome, quota_excess: str) -> str:
    printed = outcome.output.rstrip("\n")
    notes = (outcome.note, f"[{quota_excess}]" if quota_excess else "")
    return "\n".join(part for part in (printed, *notes) if part) or "(no output)"


MOST_LOOKED_AT = 5000  # files and folders; it takes about 7 microseconds for each, twice a command
MOST_NAMED = 20


class WorkspaceSnapshot:
    """The workspace as it was when this was made, as far as it could be looked at."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.before = _seen(workspace)

    def changed(self) -> dict[str, Any]:
        """For a call's `detail`: `changed`, paths of files that were made, changed or removed since.

        Those of them that are there no more are in `removed` too. Beyond the first twenty they are counted,
        as `changed_more`. What lies in folders that tools fill by the thousand, or that are closed, is not
        looked at; nothing is told of a workspace with 5,000 files and folders or more.
        """
        if not self.before.whole or not (now := _seen(self.workspace)).whole:
            return {}
        old, new = _stamps(self.before), _stamps(now)
        closed = [f"{folder}/" for folder in {*self.before.closed, *now.closed}]
        paths = {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
        found = sorted(path for path in paths if not any(map(path.startswith, closed)))
        named = found[:MOST_NAMED]
        told = {
            "changed": named,
            "removed": [path for path in named if path not in new],
            "changed_more": len(found) - len(named),
        }
        return {name: value for name, value in told.items() if value}


def _seen(workspace: Workspace) -> Scan:
    """What is in the workspace; not the whole where it cannot be looked at."""
    try:
        return scan_workspace(workspace, max_entries=MOST_LOOKED_AT)
    except WorkspaceError:
        return Scan(".", [], whole=False)


def _stamps(found: Scan) -> Mapping[str, Stamp]:
    """When the content of each file was changed; an owner or a mode alone is no change of it."""
    files = [entry for entry in found.entries if entry.kind == "file" and is_utf8(entry.path)]
    return {entry.path: (*entry.stamp[:2], 0) for entry in files}
