"""MCP tools as tools of the agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from chat.agent.mcp.definition import Definition, offered_name
from chat.agent.mcp.server import Program, ServerError
from chat.agent.sandbox import UNBOUNDED, CommandSlot
from chat.agent.tool import Tool, ToolError

if TYPE_CHECKING:
    from chat.agent.mcp.connection import Connection


def server_tool(connection: Connection, definition: Definition, slot: CommandSlot = UNBOUNDED) -> Tool:
    """The tool as `server__tool`; raises UnfitError. Calls of a local program take a command slot."""
    is_program = isinstance(connection.server.reached, Program)

    async def call(**arguments: Any) -> str:
        try:
            async with slot() if is_program else UNBOUNDED():
                return await connection.call(definition, arguments)
        except ServerError as error:
            raise ToolError(f"Error: {error}") from error

    return Tool(
        name=offered_name(connection.server.name, definition.name),
        description=definition.summary,
        parameters=definition.parameters,
        function=call,
        check=_unchecked,
    )


def _unchecked(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Unvalidated: the server validates, and its schemas' patterns must not run here."""
    return dict(arguments)
