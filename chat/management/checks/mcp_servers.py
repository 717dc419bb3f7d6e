"""Whether the MCP servers answer, and whether their tools wait for the administrator."""

from __future__ import annotations

from asgiref.sync import sync_to_async
from django.db import DatabaseError
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.connections.mcp_servers import MOST_TOOLS, look
from chat.management.checks.finding import Finding
from chat.models import McpServer, McpTool


async def mcp_servers() -> list[Finding]:
    """A finding a server, each connected with for this; none for a site without, or without its tables."""
    try:
        rows = await sync_to_async(_enabled)()
    except DatabaseError:
        return []  # the database's own finding says so
    await look(rows)
    found: list[Finding] = await sync_to_async(_findings)()
    return found


def _enabled() -> list[McpServer]:
    return list(McpServer.objects.filter(enabled=True))


def _findings() -> list[Finding]:
    findings = [_finding(server) for server in _enabled()]
    offered = McpTool.offered(_enabled()).count()
    if offered > MOST_TOOLS:
        cure = _("%(count)d tools are offered, but an agent can have %(most)d. Choose servers by profile.")
        findings.append(Finding("MCP", False, cure % {"count": offered, "most": MOST_TOOLS}))
    return findings


def _finding(server: McpServer) -> Finding:
    part = f"MCP {server.name}"
    if server.problem:
        return Finding(part, False, " ".join(filter(None, [server.problem, server.problem_detail])))
    tools = list(server.tools.all())
    waiting = [str(tool) for tool in tools if tool.state in (McpTool.State.NEW, McpTool.State.CHANGED)]
    if waiting:
        cure = ngettext(
            "a new or changed definition is not offered (%s). Review and accept it in the administration.",
            "new or changed definitions are not offered (%s). Review and accept them in the administration.",
            len(waiting),
        )
        return Finding(part, False, cure % _few(waiting))
    offered = sum(tool.state == McpTool.State.OFFERED for tool in tools)
    sentence = ngettext("answers; %d tool is offered.", "answers; %d tools are offered.", offered) % offered
    return Finding(part, True, " ".join([sentence, *_unfit(tools)]))


def _unfit(tools: list[McpTool]) -> list[str]:
    """A sentence about each tool that no provider would take."""
    unfit = [tool for tool in tools if tool.state == McpTool.State.UNFIT]
    return [_("%(tool)s is not: %(why)s.") % {"tool": tool, "why": tool.unfit} for tool in unfit]


def _few(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
