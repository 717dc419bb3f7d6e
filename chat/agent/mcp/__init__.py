"""Tools of MCP servers. Importing this does not load the `mcp` package."""

from chat.agent.mcp.definition import Definition, UnfitError, offered_name, server_tool
from chat.agent.mcp.server import NAME, NAME_LIMIT, Address, Program, Server, ServerError

__all__ = [
    "NAME",
    "NAME_LIMIT",
    "Address",
    "Definition",
    "Program",
    "Server",
    "ServerError",
    "UnfitError",
    "offered_name",
    "server_tool",
]
