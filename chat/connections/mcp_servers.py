"""This process's connections with MCP servers: opened, kept, renewed when their rows change, written down."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Iterable
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import DatabaseError
from django.utils.translation import gettext as _

from chat import measures
from chat.agent import Tool
from chat.agent.mcp import (
    Address,
    Definition,
    Program,
    Server,
    ServerError,
    UnfitError,
    offered_name,
    server_tool,
)
from chat.agent.sandbox import UNBOUNDED, CommandSlot
from chat.database import in_database
from chat.models import McpServer, McpTool, Profile
from chat.models.mcp import ListedTool, check_folder
from chat.models.secrets import SecretUnreadableError

if TYPE_CHECKING:
    from chat.agent.mcp.connection import Connection


log = logging.getLogger(__name__)

ROUND = 5.0  # seconds between looks at the rows
MOST_TOOLS = 100
"""How many tools of servers one agent is given; providers take 128 in all."""


class McpServers:
    """Connections by their rows. One keeper task opens and closes them, as the rows say."""

    def __init__(self) -> None:
        self._connections: dict[int, tuple[McpServer, Connection]] = {}
        self._news = asyncio.Event()
        self._noted: dict[int, object] = {}
        self._settling = asyncio.Lock()
        self._keeper: asyncio.Task[None] | None = None

    @property
    def connections(self) -> list[Connection]:
        """Those that are kept now, whether they are connected or try to be."""
        return [connection for _row, connection in self._connections.values()]

    def open(self) -> None:
        """Begin to keep connections, and go on."""
        if self._keeper is None or self._keeper.done():
            # A context of its own: what rang belongs to a turn, and this does not.
            self._keeper = asyncio.create_task(self._keep(), context=contextvars.Context())

    async def tools(self, profile: Profile, slot: CommandSlot = UNBOUNDED) -> list[Tool]:
        """The accepted tools of the servers that the profile may use; whether they answer shows in a call.

        A call of a program takes a `slot`.
        """
        accepted = await in_database(_accepted, profile)
        if not accepted:
            return []
        self.open()
        if any(tool.server_id not in self._connections for tool in accepted):
            await self.settle()
        return [made for tool in accepted if (made := self._tool(tool, slot))]

    async def settle(self) -> None:
        """Have a connection for every enabled row as it is now, and none else."""
        async with self._settling:
            rows = {row.pk: row for row in await in_database(_enabled)}
            for pk, (row, connection) in list(self._connections.items()):
                if pk not in rows or rows[pk].version != row.version:
                    self._connections.pop(pk)
                    self._noted.pop(pk, None)
                    await connection.close()
            for pk in rows.keys() - self._connections.keys():
                await self._connect(rows[pk])

    async def close(self) -> None:
        """End the keeper, the connections, and the programs behind them."""
        if self._keeper:
            self._keeper.cancel()
            await asyncio.wait([self._keeper])
        async with self._settling:
            ending = [connection.close() for _row, connection in self._connections.values()]
            self._connections.clear()
            await asyncio.gather(*ending)

    async def _connect(self, row: McpServer) -> None:
        try:
            server = server_of(row)
        except ServerError as error:
            if self._noted.get(row.pk) != (row.version, str(error)):
                self._noted[row.pk] = (row.version, str(error))
                await in_database(row.save_problem, str(error))
            return
        make = await _connection_class()
        self._connections[row.pk] = (row, make(server, self._news.set))

    def _tool(self, tool: McpTool, slot: CommandSlot) -> Tool | None:
        _row, connection = self._connections.get(tool.server_id, (None, None))
        try:
            return server_tool(connection, definition_of(tool), slot) if connection else None
        except UnfitError:  # accepted when other things were unfit
            return None

    async def _keep(self) -> None:
        while True:
            self._news.clear()
            await self._try(self.settle())
            for pk, (row, connection) in list(self._connections.items()):
                await self._try(self._note(pk, row, connection))
            await _either(self._news, ROUND)

    async def _try(self, work: Awaitable[None]) -> None:
        try:
            await work
        except Exception as error:  # a database that is away comes back
            measures.database_errors.inc(isinstance(error, DatabaseError))
            log.exception("the round of the MCP servers failed; it goes on")

    async def _note(self, pk: int, row: McpServer, connection: Connection) -> None:
        """Write down what is news of one connection."""
        found = (connection.fault, connection.tools)
        if found == (None, None) or self._noted.get(pk) == found:
            return
        await in_database(write_down, row, connection)
        self._noted[pk] = found
        if fault := connection.fault:
            log.warning("MCP server %s: %s %s", row.name, fault.sentence, fault.detail)


async def look(rows: Iterable[McpServer]) -> None:
    """Connect with these servers once, write down what they list and what is wrong, and leave them."""
    await asyncio.gather(*map(_look, rows))


async def _look(row: McpServer) -> None:
    try:
        server = server_of(row)
    except ServerError as error:
        await in_database(row.save_problem, str(error))
        return
    connection = (await _connection_class())(server)
    try:
        await connection.tried()
        await in_database(write_down, row, connection)
    finally:
        await connection.close()


async def _connection_class() -> type[Connection]:
    # Half a second to import, so only a site with servers pays it, and not in the loop.
    await asyncio.to_thread(__import__, "chat.agent.mcp.connection")
    from chat.agent.mcp.connection import Connection

    return Connection


async def _either(event: asyncio.Event, seconds: float) -> None:
    """Return once the event happened or the time has passed."""
    waiting = asyncio.create_task(event.wait())
    await asyncio.wait([waiting], timeout=seconds)
    waiting.cancel()


def _enabled() -> list[McpServer]:
    return list(McpServer.objects.filter(enabled=True))


def _accepted(profile: Profile) -> list[McpTool]:
    return list(McpTool.offered(McpServer.offered_to(profile))[:MOST_TOOLS])


_servers: McpServers | None = None


def mcp_servers() -> McpServers:
    """The one set of connections of this process."""
    global _servers
    if _servers is None:
        _servers = McpServers()
    return _servers


async def close_mcp_servers() -> None:
    """End all connections, in the loop that opened them; a later use begins anew."""
    global _servers
    if _servers is not None:
        ended, _servers = _servers, None
        await ended.close()


def server_of(row: McpServer) -> Server:
    """The server that the row describes; raises ServerError where it may not or cannot be reached."""
    try:
        return Server(row.name, _reached(row), row.seconds)
    except SecretUnreadableError:
        sentence = _("Its headers or environment were encrypted with another SECRET_KEY: enter them again.")
        raise ServerError(sentence) from None
    except ValidationError as error:
        raise ServerError(" ".join(error.messages)) from None


def _reached(row: McpServer) -> Program | Address:
    if row.transport == McpServer.Transport.HTTP:
        return Address(row.url, row.headers, inside=row.network)
    if settings.SANDBOX == "off":
        raise ServerError(_("Programs run only in the sandbox, which is turned off (SANDBOX=off)."))
    for folder in row.readable:
        check_folder(folder)  # again: a symbolic link may lead elsewhere by now
    folder = settings.DATA_DIR / "mcp" / row.name
    return Program(tuple(row.command), folder, row.environment, tuple(row.readable), row.network)


def write_down(row: McpServer, connection: Connection) -> None:
    """Keep what the connection found: the tools of its last listing, and what is wrong with it."""
    fault = connection.fault
    row.save_problem(fault.sentence if fault else "", fault.detail if fault else "")
    if connection.tools is not None:
        McpTool.save_listing(row, _listed(row, connection.tools.values()))


def definition_of(tool: McpTool) -> Definition:
    """The definition that was accepted."""
    accepted = tool.accepted
    return Definition(tool.name, accepted["description"], accepted["schema"], tool.accepted_fingerprint)


def _listed(row: McpServer, definitions: Iterable[Definition]) -> list[ListedTool]:
    found: dict[str, ListedTool] = {}
    for definition in definitions:
        offered_as = offered_name(row.name, definition.name)
        if definition.storable and offered_as not in found:
            unfit = definition.problem  # it may be for its size: then it is not kept either
            told = {"description": definition.summary, "schema": {} if unfit else dict(definition.schema)}
            found[offered_as] = ListedTool(definition.name, offered_as, told, definition.fingerprint, unfit)
    return list(found.values())
