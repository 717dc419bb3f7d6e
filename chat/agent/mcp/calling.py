"""One call of a server's tool: asked, and what its answer comes to."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from mcp import Client, MCPError, types
from pydantic import ValidationError

from chat.agent.mcp.result import capped, shown
from chat.agent.mcp.server import ServerError


class BrokenOffError(Exception):
    """The connection ended under the call."""


async def asked(client: Client, name: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
    """The server's answer. Not by `client.call_tool`, which runs patterns of the server's over results."""
    params = types.CallToolRequestParams(name=name, arguments=dict(arguments))
    return await client.session.send_request(types.CallToolRequest(params=params), types.CallToolResult)


def text_of(call: asyncio.Task[types.CallToolResult]) -> str:
    """The text of a call that is over; raises ServerError if it failed, BrokenOffError if it was lost."""
    try:
        result = call.result()
    except MCPError as error:
        if error.code == types.CONNECTION_CLOSED or error.message == "Session terminated":
            raise BrokenOffError(error.message) from None
        raise ServerError(capped(error.message)) from None
    except (ValidationError, ValueError):
        raise ServerError("It answered in a form that the protocol does not know.") from None
    except asyncio.CancelledError:
        raise BrokenOffError("It was closed.") from None
    if result.is_error:
        raise ServerError(shown(result))
    return shown(result)
