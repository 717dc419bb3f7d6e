"""`manage.py doctor`: checks what works, with a cure for what does not."""

from __future__ import annotations

import asyncio
import logging
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand
from django.db import DatabaseError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.exceptions import InconsistentMigrationHistory
from django.db.migrations.executor import MigrationExecutor
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.agent.model.trial import Outcome, trial
from chat.agent.prompts import Language
from chat.agent.sandbox import probe
from chat.connections.endpoint import endpoint_of
from chat.connections.mcp_servers import MAX_TOOLS, check_servers
from chat.connections.model_clients import close_models
from chat.connections.model_lists import candidate
from chat.live.broadcast import channel_layer_responds
from chat.models import McpServer, McpTool


class Command(BaseCommand):
    help = "Check data folder, database, channel layer, sandbox, model and MCP servers, with a cure for each."
    # Django would stop at the first failure of its own checks.
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        logging.disable()  # problems are reported as findings
        well = True
        with asyncio.Runner() as runner:
            for finding in self._findings(runner):
                self.stdout.write(str(finding), None if finding.well else self.style.ERROR)
                self.stdout.flush()
                well = well and finding.well
        if not well:
            sys.exit(1)

    def _findings(self, runner: asyncio.Runner) -> Iterator[Finding]:
        yield data_folder()
        yield database()
        yield runner.run(channel_layer())
        yield runner.run(sandbox())
        yield from runner.run(_check_model())
        yield from runner.run(mcp_servers())


async def _check_model() -> list[Finding]:
    try:
        return await model()
    finally:
        await close_models()


async def model() -> list[Finding]:
    if settings.DEMO:
        return [Finding(_("model"), True, _demo())]
    if not (settings.MODEL_BASE_URL or settings.MODEL_API_KEY):
        cure = _(
            "OPENAI_MODEL is set, but no endpoint. Set OPENAI_API_KEY, and OPENAI_BASE_URL if it is not "
            "OpenAI's."
        )
        return [Finding(_("model"), False, cure)]
    async with candidate(endpoint_of(None)) as client, aclosing(trial(client, settings.MODEL_NAME)) as steps:
        outcomes = [each async for each in steps if isinstance(each, Outcome)]
    return [_finding(outcome) for outcome in outcomes if _matters(outcome)]


def _matters(outcome: Outcome) -> bool:
    return outcome.state == "failed" or (outcome.state == "well" and outcome.step in ("streams", "tools"))


def _finding(outcome: Outcome) -> Finding:
    part = _("tool calls") if outcome.step == "tools" else _("model")
    return Finding(part, outcome.state == "well", outcome.sentence(_language()))


def _demo() -> str:
    return _(
        "demo mode: scripted replies, no AI. To connect a real model, set OPENAI_API_KEY, and for "
        "endpoints other than OpenAI's also OPENAI_BASE_URL and OPENAI_MODEL."
    )


def _language() -> Language:
    return "zh" if settings.LANGUAGE_CODE.startswith("zh") else "en"


@dataclass(frozen=True)
class Finding:
    """The state of one part of the site; if it is not well, the sentence ends with the cure."""

    part: str
    well: bool
    sentence: str

    def __str__(self) -> str:
        return f"{'ok' if self.well else 'FAIL':<4}  {self.part}: {self.sentence}"


async def channel_layer() -> Finding:
    part = _("channel layer")
    well = await channel_layer_responds()
    if not settings.REDIS_URL:
        return Finding(
            part, well, _("in memory, which is fine for a single process; several need REDIS_URL.")
        )
    if well:
        return Finding(part, True, _("Redis answers."))
    cure = _(
        "Redis does not answer. Check that it is running and that REDIS_URL is right; a single process "
        "does not need it."
    )
    return Finding(part, False, cure)


def data_folder() -> Finding:
    part = _("data folder")
    folder = Path(settings.DATA_DIR)
    try:
        for each in (folder, Path(settings.WORKSPACES)):
            each.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=each):
                pass
    except OSError as error:
        cure = _(
            "%(folder)s is not writable (%(reason)s). Make it writable for the user who starts the "
            "server, or set DATA_DIR."
        )
        return Finding(part, False, cure % {"folder": folder, "reason": error.strerror})
    key = folder / "secret_key"
    if key.exists() and (mode := stat.S_IMODE(key.stat().st_mode)) & 0o077:
        cure = _("%(key)s can be read by others (mode %(mode)o). Run: chmod 600 %(key)s")
        return Finding(part, False, cure % {"key": key, "mode": mode})
    return Finding(part, True, _("%s is writable, and its secret key is private.") % folder)


CONNECT_SECONDS = 10


def database() -> Finding:
    connection_copy = _without_pool()
    try:
        return _migration_finding(connection_copy)
    except (DatabaseError, ImproperlyConfigured) as error:
        return Finding(_("database"), False, _connection_error(error))
    except InconsistentMigrationHistory as error:
        sentence = _("It was created by another, incompatible version of this program: %s")
        return Finding(_("database"), False, sentence % error)
    finally:
        connection_copy.close()


def _without_pool() -> BaseDatabaseWrapper:
    """A separate connection: a pool retries for long and then hides the reason."""
    connection_copy = connection.copy()
    options = connection_copy.settings_dict["OPTIONS"]
    if options.pop("pool", None):
        options["connect_timeout"] = CONNECT_SECONDS
    return connection_copy


def _migration_finding(connection_copy: BaseDatabaseWrapper) -> Finding:
    executor = MigrationExecutor(connection_copy)
    missing = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    if not missing:
        sentence = _("%s answers, and all migrations are applied.")
        return Finding(_("database"), True, sentence % connection_copy.display_name)
    cure = ngettext(
        "%d migration is not applied. Run: python manage.py migrate",
        "%d migrations are not applied. Run: python manage.py migrate",
        missing,
    )
    return Finding(_("database"), False, cure % missing)


def _connection_error(error: Exception) -> str:
    detail = " ".join(str(error).split()) or type(error).__name__
    if connection.vendor == "sqlite":
        cure = _("Check that DATA_DIR is writable, or set DATABASE_URL.")
    else:
        cure = _("Check that the server is running, and the address, name and password in DATABASE_URL.")
    answer = _("%(kind)s does not answer (%(detail)s).")
    return f"{answer % {'kind': connection.display_name, 'detail': detail}} {cure}"


async def mcp_servers() -> list[Finding]:
    try:
        rows = await sync_to_async(_enabled)()
    except DatabaseError:
        return []  # the database's finding reports it
    await check_servers(rows)
    findings: list[Finding] = await sync_to_async(_findings)()
    return findings


def _enabled() -> list[McpServer]:
    return list(McpServer.objects.filter(enabled=True))


def _findings() -> list[Finding]:
    findings = [_server_finding(server) for server in _enabled()]
    offered = McpTool.offered(_enabled()).count()
    if offered > MAX_TOOLS:
        cure = _("%(count)d tools are offered, but an agent can have %(most)d. Choose servers by profile.")
        findings.append(Finding("MCP", False, cure % {"count": offered, "most": MAX_TOOLS}))
    return findings


def _server_finding(server: McpServer) -> Finding:
    part = f"MCP {server.name}"
    if server.problem:
        return Finding(part, False, " ".join(filter(None, [server.problem, server.problem_detail])))
    tools = list(server.tools.all())
    waiting = [str(tool) for tool in tools if tool.state in (McpTool.State.NEW, McpTool.State.CHANGED)]
    if waiting:
        cure = ngettext(
            "a new or changed definition is not offered (%s). "
            "Review and accept it under Settings → MCP servers.",
            "new or changed definitions are not offered (%s). "
            "Review and accept them under Settings → MCP servers.",
            len(waiting),
        )
        return Finding(part, False, cure % _few(waiting))
    offered = sum(tool.state == McpTool.State.OFFERED for tool in tools)
    sentence = ngettext("answers; %d tool is offered.", "answers; %d tools are offered.", offered) % offered
    return Finding(part, True, " ".join([sentence, *_unfit_sentences(tools)]))


def _unfit_sentences(tools: list[McpTool]) -> list[str]:
    unfit = [tool for tool in tools if tool.state == McpTool.State.UNFIT]
    return [_("%(tool)s is not: %(why)s.") % {"tool": tool, "why": tool.unfit} for tool in unfit]


def _few(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")


async def sandbox() -> Finding:
    part = _("sandbox")
    if settings.SANDBOX == "off":
        return Finding(part, True, _("turned off (SANDBOX=off), so the agent has no shell commands."))
    problem = await probe(_workspaces())
    return Finding(part, problem is None, problem or _("commands run, confined to their workspace."))


def _workspaces() -> Path | None:
    """The folder of the workspaces; None if it is not writable, which `data_folder` reports."""
    folder = Path(settings.WORKSPACES)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder
