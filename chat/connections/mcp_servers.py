"""This process's connections with MCP servers, kept in sync with their rows."""

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

POLL_INTERVAL = 5.0  # seconds between checks of the rows
IDLE_POLL_INTERVAL = 30.0  # the same without connections: the turn that needs the first one opens it
CHECK_SECONDS = 15.0  # to connect when a page waits for it: with its end, less than a response may take
MAX_TOOLS = 100
"""MCP tools per agent; providers accept 128 tools in all."""


class McpServers:
    """Connections by row. A single task opens and closes them as the rows change."""

    def __init__(self) -> None:
        self._connections: dict[int, tuple[McpServer, Connection]] = {}
        self._changed = asyncio.Event()
        self._saved_states: dict[int, object] = {}
        self._settle_lock = asyncio.Lock()
        self._keeper: asyncio.Task[None] | None = None

    @property
    def connections(self) -> list[Connection]:
        return [connection for _row, connection in self._connections.values()]

    def open(self) -> None:
        if self._keeper is None or self._keeper.done():
            # A fresh context: the caller's may belong to a turn.
            self._keeper = asyncio.create_task(self._keep_connections(), context=contextvars.Context())

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
        """Open, renew and close connections to match the enabled rows."""
        async with self._settle_lock:
            rows = {row.pk: row for row in await in_database(_enabled)}
            for pk, (row, connection) in list(self._connections.items()):
                if pk not in rows or rows[pk].version != row.version:
                    self._connections.pop(pk)
                    self._saved_states.pop(pk, None)
                    await connection.close()
            for pk in rows.keys() - self._connections.keys():
                await self._connect(rows[pk])

    async def close(self) -> None:
        if self._keeper:
            self._keeper.cancel()
            await asyncio.wait([self._keeper])
        async with self._settle_lock:
            ending = [connection.close() for _row, connection in self._connections.values()]
            self._connections.clear()
            await asyncio.gather(*ending)

    async def _connect(self, row: McpServer) -> None:
        try:
            server = server_of(row)
        except ServerError as error:
            if self._saved_states.get(row.pk) != (row.version, str(error)):
                self._saved_states[row.pk] = (row.version, str(error))
                await in_database(row.save_problem, str(error))
            return
        make = await _connection_class()
        self._connections[row.pk] = (row, make(server, self._changed.set))

    def _tool(self, tool: McpTool, slot: CommandSlot) -> Tool | None:
        _row, connection = self._connections.get(tool.server_id, (None, None))
        try:
            return server_tool(connection, definition_of(tool), slot) if connection else None
        except UnfitError:  # accepted when other things were unfit
            return None

    async def _keep_connections(self) -> None:
        while True:
            self._changed.clear()
            await self._try(self.settle())
            for pk, (row, connection) in list(self._connections.items()):
                await self._try(self._save_changes(pk, row, connection))
            await _wait_for(self._changed, POLL_INTERVAL if self._connections else IDLE_POLL_INTERVAL)

    async def _try(self, work: Awaitable[None]) -> None:
        try:
            await work
        except Exception as error:  # the database may come back
            measures.database_errors.inc(isinstance(error, DatabaseError))
            log.exception("a check of the MCP servers failed; checks continue")

    async def _save_changes(self, pk: int, row: McpServer, connection: Connection) -> None:
        state = (connection.fault, connection.tools)
        if state == (None, None) or self._saved_states.get(pk) == state:
            return
        await in_database(save_state, row, connection)
        self._saved_states[pk] = state
        if fault := connection.fault:
            log.warning("MCP server %s: %s %s", row.name, fault.sentence, fault.detail)


async def check_servers(rows: Iterable[McpServer]) -> None:
    """Connect to these servers once, and save their tools and problems."""
    await asyncio.gather(*map(_check_server, rows))


async def _check_server(row: McpServer) -> None:
    try:
        server = server_of(row)
    except ServerError as error:
        await in_database(row.save_problem, str(error))
        return
    connection = (await _connection_class())(server, connect_seconds=CHECK_SECONDS)
    try:
        await connection.tried()
        await in_database(save_state, row, connection)
    finally:
        await connection.close()


async def _connection_class() -> type[Connection]:
    # Half a second to import, so only a site with servers pays it, and not in the loop.
    await asyncio.to_thread(__import__, "chat.agent.mcp.connection")
    from chat.agent.mcp.connection import Connection

    return Connection


async def _wait_for(event: asyncio.Event, seconds: float) -> None:
    waiting = asyncio.create_task(event.wait())
    await asyncio.wait([waiting], timeout=seconds)
    waiting.cancel()


def _enabled() -> list[McpServer]:
    return list(McpServer.objects.filter(enabled=True))


def _accepted(profile: Profile) -> list[McpTool]:
    return list(McpTool.offered(McpServer.offered_to(profile))[:MAX_TOOLS])


_servers: McpServers | None = None


def mcp_servers() -> McpServers:
    global _servers
    if _servers is None:
        _servers = McpServers()
    return _servers


async def close_mcp_servers() -> None:
    """Close all connections, in the loop that opened them; a later use creates new ones."""
    global _servers
    if _servers is not None:
        ended, _servers = _servers, None
        await ended.close()


def server_of(row: McpServer) -> Server:
    try:
        return Server(row.name, _address_of(row), row.seconds)
    except SecretUnreadableError:
        sentence = _("Its headers or environment were encrypted with another SECRET_KEY: enter them again.")
        raise ServerError(sentence) from None
    except ValidationError as error:
        raise ServerError(" ".join(error.messages)) from None


def _address_of(row: McpServer) -> Program | Address:
    if row.transport == McpServer.Transport.HTTP:
        return Address(row.url, row.headers, inside=row.network)
    if settings.SANDBOX == "off":
        raise ServerError(_("Programs run only in the sandbox, which is turned off (SANDBOX=off)."))
    for folder in row.readable:
        check_folder(folder)  # again: a symbolic link may have changed
    folder = settings.DATA_DIR / "mcp" / row.name
    return Program(tuple(row.command), folder, row.environment, tuple(row.readable), row.network)


def save_state(row: McpServer, connection: Connection) -> None:
    fault = connection.fault
    row.save_problem(fault.sentence if fault else "", fault.detail if fault else "")
    if connection.tools is not None:
        McpTool.save_listing(row, _listed(row, connection.tools.values()))


def definition_of(tool: McpTool) -> Definition:
    accepted = tool.accepted
    return Definition(tool.name, accepted["description"], accepted["schema"], tool.accepted_fingerprint)


def _listed(row: McpServer, definitions: Iterable[Definition]) -> list[ListedTool]:
    listed: dict[str, ListedTool] = {}
    for definition in definitions:
        offered_as = offered_name(row.name, definition.name)
        if definition.storable and offered_as not in listed:
            unfit = definition.problem  # possibly for its size; it is not stored then
            stored = {
                "description": definition.summary,
                "schema": {} if unfit else dict(definition.schema),
            }
            listed[offered_as] = ListedTool(
                definition.name, offered_as, stored, definition.fingerprint, unfit
            )
    return list(listed.values())
