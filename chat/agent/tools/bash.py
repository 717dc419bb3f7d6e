"""The bash tool."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from chat.agent.progress import report
from chat.agent.sandbox import CommandOutcome, Output, Sandbox, SandboxError
from chat.agent.scan import Scan, Stamp, is_utf8, scan_workspace
from chat.agent.tool import Tool, ToolError, ToolResult, tool
from chat.agent.workspace import Workspace, WorkspaceError

_LIVE_HEAD, _LIVE_TAIL = 2 * 1024, 6 * 1024  # bytes
# Colours, movements of the cursor, titles of the window: neither a model nor a page has a use for them.
_TERMINAL_CODES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[()][0-9A-B])")


def bash_tool(workspace: Workspace, sandbox: Sandbox) -> Tool:
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
                snapshot = await asyncio.to_thread(WorkspaceSnapshot, workspace)
                outcome = await sandbox.run(command, workspace, timeout, _report_output)
                quota_excess = await asyncio.to_thread(workspace.quota_excess)
                changed = await asyncio.to_thread(snapshot.changed)
        except (SandboxError, WorkspaceError) as error:
            raise ToolError(f"Error: {error}") from error
        text = _shown(outcome, quota_excess)
        detail = {"exit_code": outcome.exit_code, "seconds": round(outcome.seconds, 3)} | changed
        if not outcome.ok:
            raise ToolError(text, detail)
        return ToolResult(text, detail)

    return bash


def without_terminal_codes(text: str) -> str:
    return _TERMINAL_CODES.sub("", text)


def _report_output(output: Output) -> None:
    report(lambda: without_terminal_codes(output.text(_LIVE_HEAD, _LIVE_TAIL)))


def _shown(outcome: CommandOutcome, quota_excess: str) -> str:
    printed = without_terminal_codes(outcome.output).rstrip("\n")
    notes = (outcome.note, f"[{quota_excess}]" if quota_excess else "")
    return "\n".join(part for part in (printed, *notes) if part) or "(no output)"


MAX_SCANNED = 5000  # files and folders; each takes about 7 microseconds, twice per command
MAX_LISTED = 20


class WorkspaceSnapshot:
    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.before = _scan(workspace)

    def changed(self) -> dict[str, Any]:
        """For a call's `detail`: `changed`, paths of files created, changed or deleted since the snapshot.

        New ones are also in `created`, deleted ones in `removed`. Paths beyond the first twenty are only
        counted, as `changed_more`. Crowded and unreadable folders are not scanned; empty for workspaces with
        5,000 or more files and folders.
        """
        if not self.before.whole or not (after := _scan(self.workspace)).whole:
            return {}
        old, new = _content_stamps(self.before), _content_stamps(after)
        closed = [f"{folder}/" for folder in {*self.before.closed, *after.closed}]
        different = {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
        paths = sorted(path for path in different if not any(map(path.startswith, closed)))
        listed = paths[:MAX_LISTED]
        detail = {
            "changed": listed,
            "created": [path for path in listed if path not in old],
            "removed": [path for path in listed if path not in new],
            "changed_more": len(paths) - len(listed),
        }
        return {name: value for name, value in detail.items() if value}


def _scan(workspace: Workspace) -> Scan:
    try:
        return scan_workspace(workspace, max_entries=MAX_SCANNED)
    except WorkspaceError:
        return Scan(".", [], whole=False)


def _content_stamps(scan: Scan) -> Mapping[str, Stamp]:
    # Without the ctime, which a change of owner or mode sets, too.
    files = [entry for entry in scan.entries if entry.kind == "file" and is_utf8(entry.path)]
    return {entry.path: (*entry.stamp[:2], 0) for entry in files}
