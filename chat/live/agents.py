"""From a turn's profile to the agent that answers it."""

from __future__ import annotations

import asyncio
from typing import cast

from channels.db import database_sync_to_async
from django.conf import settings
from django.utils.translation import gettext as _

from chat.agent import Agent, Retry, Tool
from chat.agent.prompts import Language
from chat.agent.sandbox import Sandbox, SandboxLimits, probe
from chat.agent.tools import workspace_tools
from chat.files.pictures import Album
from chat.files.place import open_workspace, quota_of
from chat.live.mcp_servers import mcp_servers
from chat.live.model_clients import model_for
from chat.live.seen import seen_in
from chat.live.terms import limits_of_turn, options_of, policy_of
from chat.models import Conversation, Profile, Rule, Turn

WORKSPACE_AS_SEEN = "/workspace"
UNBOUNDED = 2**62


class Shell:
    """Whether commands can be confined on this machine; found out once, by trying."""

    problem: str | None = None
    known = False

    @classmethod
    async def find_out(cls) -> None:
        """Try the sandbox, unless that was done."""
        if cls.known:
            return
        if settings.SANDBOX == "off":
            cls.problem = _("Shell commands are switched off (SANDBOX=off).")
        else:
            await asyncio.to_thread(settings.WORKSPACES.mkdir, parents=True, exist_ok=True)
            cls.problem = await probe(settings.WORKSPACES)
        cls.known = True


async def agent_for(turn: Turn) -> Agent:
    """The agent of the turn's conversation, with its tools on its workspace and those of MCP servers."""
    await Shell.find_out()
    profile = await database_sync_to_async(lambda: turn.profile)()
    further = await mcp_servers().tools(profile)
    agent: Agent = await database_sync_to_async(_agent_for)(turn.conversation, profile, further)
    return agent


def _agent_for(conversation: Conversation, profile: Profile, further: list[Tool]) -> Agent:
    offered = [*tools_for(conversation), *further]
    return Agent(
        name=profile.name,
        instructions=profile.instructions,
        model=model_for(profile),
        tools=[tool for tool in offered if profile.rule_for(tool.name) != Rule.NEVER],
        todo_policy=policy_of(profile),
        limits=limits_of_turn(profile),
        retry=Retry(seconds=settings.MODEL_RETRY_SECONDS),
        language=cast(Language, profile.language),
        workspace=WORKSPACE_AS_SEEN,
        **options_of(profile),
    )


def tools_for(conversation: Conversation) -> list[Tool]:
    """The tools on the conversation's workspace, which is made if it does not exist yet."""
    sandbox = None if Shell.problem else Sandbox(limits_of(conversation))
    keep = Album(conversation.pk).keep
    return workspace_tools(open_workspace(conversation), sandbox, seen_in(conversation), keep)


def limits_of(conversation: Conversation) -> SandboxLimits:
    """What a command may use: of the disk as much as its workspace may hold."""
    quota = quota_of(conversation)
    size, files = (quota.size, quota.files) if quota else (UNBOUNDED, UNBOUNDED)
    return SandboxLimits(workspace_bytes=size, workspace_files=files)
