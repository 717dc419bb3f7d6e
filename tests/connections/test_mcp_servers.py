"""MCP servers from rows to turns: only accepted tools are offered, and no failure ends a turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import Client

from agentsite.guard import RESPONSE_SECONDS
from chat.agent.mcp import stdio
from chat.agent.mcp.connection import CONNECT_SECONDS, Connection
from chat.connections import mcp_servers as connections
from chat.connections.mcp_servers import McpServers, check_servers, mcp_servers
from chat.demo.reply import Reply
from chat.models import Conversation, McpServer, McpTool, Profile
from tests.agent.mcp.conftest import SOURCE
from tests.live.site import Site
from tests.model_server import ScriptedModel

PATIENCE = 30.0  # seconds that anything may take on a busy machine


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    """The data folder, and with it the servers' own."""
    settings.DATA_DIR = tmp_path
    return tmp_path


@pytest.fixture
async def servers(transactional_db: Any) -> AsyncIterator[McpServers]:
    """Connections as a worker keeps them."""
    made = McpServers()
    yield made
    await made.close()


@sync_to_async
def row(habit: str = "well", **given: Any) -> McpServer:
    server = McpServer(name="mine", command=["python3", "-c", SOURCE, habit], **given)
    server.full_clean()
    server.save()
    return server


@sync_to_async
def accept_all() -> int:
    return McpTool.accept(
        [(tool.pk, tool.listed_fingerprint) for server in McpServer.objects.all() for tool in server.waiting]
    )


@sync_to_async
def states() -> dict[str, str]:
    """The tools' states by their names."""
    return {tool.name: str(tool.state) for tool in McpTool.objects.all()}


async def until(happened: Callable[[], Any]) -> None:
    """Return once the rows say so."""
    async with asyncio.timeout(PATIENCE):
        while not await sync_to_async(happened)():  # noqa: ASYNC110 - rows send no event
            await asyncio.sleep(0.02)


async def test_what_is_listed_is_offered_once_accepted(servers: McpServers) -> None:
    await row()
    servers.open()
    await until(McpTool.objects.exists)
    assert await states() == {"echo": "new", "look": "new"}
    assert await servers.tools(Profile()) == []
    assert await accept_all() == 2
    offered = await servers.tools(Profile())
    assert [tool.name for tool in offered] == ["mine__echo", "mine__look"]
    assert (await offered[0].call({"text": "hello"})).text == "hello"


async def test_a_changed_definition_waits_for_the_administrator(servers: McpServers) -> None:
    server = await row("changes")
    await check_servers([server])
    await accept_all()
    servers.open()  # its second start
    await until(lambda: any(tool.state == McpTool.State.CHANGED for tool in McpTool.objects.all()))
    assert await states() == {"echo": "changed", "look": "offered"}
    assert [tool.name for tool in await servers.tools(Profile())] == ["mine__look"]
    tool = await McpTool.objects.aget(name="echo")
    assert "send all files" in tool.listed["description"]
    assert "send all files" not in tool.accepted["description"]
    await accept_all()
    assert [tool.name for tool in await servers.tools(Profile())] == ["mine__echo", "mine__look"]


async def test_only_what_was_shown_is_accepted(transactional_db: Any) -> None:
    await check_servers([await row()])
    tool = await McpTool.objects.aget(name="echo")
    assert await sync_to_async(McpTool.accept)([(tool.pk, "another fingerprint"), (tool.pk + 99, "x")]) == 0
    assert (await states())["echo"] == "new"


async def test_a_tool_that_is_gone_is_no_longer_offered(servers: McpServers) -> None:
    server = await row()
    await check_servers([server])
    await accept_all()
    await sync_to_async(McpTool.save_listing)(server, [])
    assert await states() == {"echo": "gone", "look": "gone"}
    assert await servers.tools(Profile()) == []


async def test_one_that_says_nothing_is_not_waited_for_longer_than_a_page_may_take(
    transactional_db: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert connections.CHECK_SECONDS + stdio.GRACE + 2 * stdio._KILL_TIMEOUT < RESPONSE_SECONDS
    monkeypatch.setattr(connections, "CHECK_SECONDS", 0.5)
    server = McpServer(name="silent", command=["sleep", "300"])
    await server.asave()
    async with asyncio.timeout(CONNECT_SECONDS):
        await check_servers([server])
    await server.arefresh_from_db()
    assert server.problem == "It did not answer in time."


async def test_profiles_may_be_chosen(servers: McpServers) -> None:
    server = await row()
    await check_servers([server])
    await accept_all()
    chosen = await Profile.objects.acreate(title="Chosen")
    other = await Profile.objects.acreate(title="Other")
    assert len(await servers.tools(other)) == 2
    await server.profiles.aadd(chosen)
    assert len(await servers.tools(chosen)) == 2
    assert await servers.tools(other) == []
    assert await servers.tools(Profile()) == []


async def test_a_row_that_changes_renews_its_connection(servers: McpServers) -> None:
    server = await row()
    await servers.settle()
    first = held(servers)
    await first.tried()
    await servers.settle()
    assert held(servers) is first
    await server.asave()
    await servers.settle()
    assert held(servers) is not first
    assert not first.connected
    server.enabled = False
    await server.asave()
    await servers.settle()
    assert not servers.connections


def held(servers: McpServers) -> Connection:
    """The one connection."""
    (connection,) = servers.connections
    return connection


async def test_what_is_wrong_is_written_down_and_told(servers: McpServers, collected: None) -> None:
    server = await row("dies")
    servers.open()
    await until(lambda: McpServer.failing().exists())
    await server.arefresh_from_db()
    assert server.problem == "It ended with exit code 1."
    assert "it will not" in server.problem_detail
    told = await sync_to_async(lambda: Client().get("/readyz").content.decode())()
    assert "MCP server mine: It ended with exit code 1.\n" in told
    assert "it will not" not in told, "the detail is for administrators"


async def test_programs_need_the_sandbox(servers: McpServers, settings: Any) -> None:
    settings.SANDBOX = "off"
    server = await row()
    servers.open()
    await until(lambda: McpServer.failing().exists())
    await server.arefresh_from_db()
    assert "SANDBOX=off" in server.problem
    assert not servers.connections


async def test_secrets_of_another_key_are_asked_for_anew(servers: McpServers, settings: Any) -> None:
    server = await row()
    server.seal_secrets({}, {"TOKEN": "hidden"})
    await server.asave()
    assert "hidden" not in server.secrets
    settings.SECRET_KEY = "another key, after a move"
    servers.open()
    await until(lambda: McpServer.failing().exists())
    await server.arefresh_from_db()
    assert "enter them again" in server.problem
    settings.SECRET_KEY_FALLBACKS = []


async def test_a_turn_outlives_whatever_a_server_does(site: Site, model_server: ScriptedModel) -> None:
    await check_servers([await row()])
    await accept_all()
    calls = [("mine__echo", {"text": text}) for text in ("hello", "die")]
    model_server.script(*(Reply(tool_calls=[call]) for call in calls), Reply(text="That is all."))
    conversation = await talk(site)
    turn = await site.turn(conversation)
    assert turn.status == "completed"
    outcomes = [(call.status, call.output) async for call in turn.tool_calls.order_by("pk")]
    assert outcomes[0] == ("succeeded", "hello")
    assert outcomes[1][0] == "failed"
    assert "exit code 3" in outcomes[1][1]
    names = [tool["function"]["name"] for tool in model_server.requests[0]["tools"]]
    assert {"mine__echo", "mine__look"} <= set(names)
    assert mcp_servers().connections


async def talk(site: Site) -> Conversation:
    """A conversation whose profile lets the server's tools run, once it has had its turn."""
    profile = await Profile.objects.acreate(title="Runs", rules={"mine__*": "run"})
    conversation = await site.conversation()
    await Conversation.objects.filter(pk=conversation.pk).aupdate(profile=profile)
    tab = await site.open(conversation)
    await tab.send("do it")
    await tab.until_idle()
    return conversation


async def test_stop_ends_a_call_that_hangs(site: Site, model_server: ScriptedModel) -> None:
    await check_servers([await row()])
    await accept_all()
    model_server.script(Reply(tool_calls=[("mine__echo", {"text": "hang"})]))
    profile = await Profile.objects.acreate(title="Runs", rules={"mine__*": "run"})
    conversation = await site.conversation()
    await Conversation.objects.filter(pk=conversation.pk).aupdate(profile=profile)
    tab = await site.open(conversation)
    await tab.send("do it")
    await tab.until(lambda frame: 'data-tool="mine__echo" data-status="running"' in frame)
    await site.post(conversation, "stop")
    await tab.until_idle()
    assert (await site.turn(conversation)).status == "stopped"
