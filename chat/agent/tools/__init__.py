"""The built-in tools that work in a workspace."""

from __future__ import annotations

from chat.agent.pictures import Picture
from chat.agent.sandbox import Sandbox
from chat.agent.tool import Tool
from chat.agent.tools.bash import bash_tool
from chat.agent.tools.edit_file import edit_file_tool
from chat.agent.tools.read_file import Keep, read_file_tool
from chat.agent.tools.read_state import ReadState
from chat.agent.tools.write_file import write_file_tool
from chat.agent.workspace import Workspace


def workspace_tools(
    workspace: Workspace, sandbox: Sandbox | None, seen: ReadState | None = None, keep: Keep = Picture.of
) -> list[Tool]:
    """The workspace's tools; `seen` has file states from earlier turns, `keep` stores pictures."""
    seen = seen or ReadState()
    tools = [
        read_file_tool(workspace, seen, keep),
        write_file_tool(workspace, seen),
        edit_file_tool(workspace, seen),
    ]
    return [bash_tool(workspace, sandbox), *tools] if sandbox else tools
