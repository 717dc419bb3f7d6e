"""What a server lists, written down; and a row's server as the engine takes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from chat.agent.mcp import Address, Definition, Program, Server, ServerError, offered_name
from chat.models import McpServer, McpTool
from chat.models.mcp_reach import check_folder
from chat.models.mcp_tool import Listed
from chat.models.seal import SealBrokenError

if TYPE_CHECKING:
    from chat.agent.mcp.connection import Connection


def server_of(row: McpServer) -> Server:
    """The server that the row describes; raises ServerError where it may not or cannot be reached."""
    try:
        return Server(row.name, _reached(row), row.seconds)
    except SealBrokenError:
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
    row.note(fault.sentence if fault else "", fault.detail if fault else "")
    if connection.tools is not None:
        McpTool.take_listing(row, _listed(row, connection.tools.values()))


def definition_of(tool: McpTool) -> Definition:
    """The definition that was accepted."""
    accepted = tool.accepted
    return Definition(tool.name, accepted["description"], accepted["schema"], tool.accepted_fingerprint)


def _listed(row: McpServer, definitions: Iterable[Definition]) -> list[Listed]:
    found: dict[str, Listed] = {}
    for definition in definitions:
        offered_as = offered_name(row.name, definition.name)
        if definition.storable and offered_as not in found:
            unfit = definition.problem  # it may be for its size: then it is not kept either
            told = {"description": definition.summary, "schema": {} if unfit else dict(definition.schema)}
            found[offered_as] = Listed(definition.name, offered_as, told, definition.fingerprint, unfit)
    return list(found.values())
