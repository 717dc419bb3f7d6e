"""The tools that a server says it has."""

from __future__ import annotations

from mcp import Client

from chat.agent.mcp.definition import Definition
from chat.agent.mcp.server import ServerError

PAGES = 20
TOOLS = 200


async def listed(client: Client) -> dict[str, Definition]:
    """All of the server's tools by name; raises ServerError when there is no end of them.

    Of two with the same name the first counts.
    """
    found: dict[str, Definition] = {}
    cursor: str | None = None
    for _page in range(PAGES):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            found.setdefault(tool.name, Definition.read(tool.name, tool.description, tool.input_schema))
        cursor = page.next_cursor
        if len(found) > TOOLS:
            break
        if not cursor:
            return found
    raise ServerError(f"It lists more than {TOOLS} tools, or no end of pages of them.")
