"""Builds the agent for a turn from its profile."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
from typing import Any, cast

from django.conf import settings
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from chat.agent import Agent, Limits, Model, Retry, TodoPolicy, Tool
from chat.agent.prompts import Language
from chat.agent.sandbox import CommandSlot, CommandSlots, Sandbox, SandboxLimits, probe
from chat.agent.todo import as_policy
from chat.agent.tools import workspace_tools
from chat.agent.tools.read_state import ReadState
from chat.agent.workspace import Workspace
from chat.connections.mcp_servers import mcp_servers
from chat.connections.model_clients import model_for
from chat.database import in_database
from chat.files.conversation_workspace import open_workspace_for, quota_of
from chat.files.pictures import PictureStore
from chat.models import Conversation, Profile, Rule, ToolCall, Turn

WORKSPACE_AS_SEEN = "/workspace"
UNBOUNDED = 2**62


class Shell:
    """Whether commands can be sandboxed on this machine; probed once."""

    problem: str | None = None
    known = False

    @classmethod
    async def find_out(cls) -> None:
        if cls.known:
            return
        if settings.SANDBOX == "off":
            cls.problem = _("Shell commands are turned off (SANDBOX=off).")
        else:
            await asyncio.to_thread(settings.WORKSPACES.mkdir, parents=True, exist_ok=True)
            cls.problem = await probe(settings.WORKSPACES)
        cls.known = True


@functools.cache
def command_slots() -> CommandSlots:
    """The slots for running commands in this process."""
    return CommandSlots(settings.MAX_COMMANDS)


def slot_for(turn: Turn) -> CommandSlot:
    """The slot for the turn's commands; users take turns."""
    notice = _("Waiting for another command to finish.")
    return command_slots().of(turn.conversation.owner_id, notice)


async def agent_for(turn: Turn) -> Agent:
    """The agent of the turn's conversation, with workspace tools and MCP tools."""
    await Shell.find_out()
    profile, model, read_state, versions = await in_database(_read, turn)
    slot = slot_for(turn)
    mcp_tools = await mcp_servers().tools(profile, slot)
    # The workspace may be large, so its checkpoint is taken outside the database threads.
    workspace = await asyncio.to_thread(open_workspace_for, turn, versions)
    tools = [*_tools_for(turn.conversation, workspace, read_state, slot), *mcp_tools]
    return Agent(
        name=profile.name,
        instructions=profile.instructions,
        model=model,
        tools=[tool for tool in tools if profile.rule_for(tool.name) != Rule.NEVER],
        todo_policy=policy_of(profile),
        limits=limits_of_turn(profile),
        retry=Retry(seconds=settings.MODEL_RETRY_SECONDS),
        language=cast(Language, profile.language),
        user_language="zh" if get_language().startswith("zh") else "en",
        workspace=WORKSPACE_AS_SEEN,
        **options_of(profile),
    )


def _read(turn: Turn) -> tuple[Profile, Model, ReadState, list[int]]:
    conversation = turn.conversation
    _chosen = conversation.profile
    versions = _versions(turn) if conversation.path_version else [turn.pk]
    return turn.profile, model_for(turn.profile), read_state_of(conversation), versions


def _versions(turn: Turn) -> list[int]:
    """The keys of the turn's versions; those of the turn before it, if that was stopped before it began."""
    if turn.parent and turn.parent.started_at is None:
        return _versions(turn.parent)
    same = turn.conversation.turns.filter(parent=turn.parent_id)
    return list(same.values_list("pk", flat=True))


def _tools_for(
    conversation: Conversation, workspace: Workspace, read_state: ReadState, slot: CommandSlot
) -> list[Tool]:
    sandbox = None if Shell.problem else Sandbox(limits_of(conversation), slot)
    return workspace_tools(workspace, sandbox, read_state, PictureStore(conversation.pk).keep)


def limits_of(conversation: Conversation) -> SandboxLimits:
    quota = quota_of(conversation)
    size, files = (quota.size, quota.files) if quota else (UNBOUNDED, UNBOUNDED)
    return SandboxLimits(workspace_bytes=size, workspace_files=files)


def policy_of(profile: Profile) -> TodoPolicy:
    policy = as_policy(profile.todo_policy)
    remind_after = profile.remind_after or policy.remind_after
    return dataclasses.replace(policy, max_items=profile.max_todos, remind_after=remind_after)


def limits_of_turn(profile: Profile) -> Limits:
    overrides = {
        "steps": profile.max_steps,
        "tool_calls": profile.max_tool_calls,
        "seconds": profile.max_seconds,
    }
    return dataclasses.replace(Limits(), **{name: value for name, value in overrides.items() if value})


def options_of(profile: Profile) -> dict[str, Any]:
    options = {
        "temperature": profile.temperature,
        "top_p": profile.top_p,
        "max_tokens": profile.max_output_tokens,
        "reasoning_effort": profile.reasoning_effort or None,
    }
    return {name: value for name, value in options.items() if value is not None}


def read_state_of(conversation: Conversation) -> ReadState:
    """The states in which the conversation's tool calls last read or wrote its files."""
    done = ToolCall.objects.filter(turn__conversation=conversation, status=ToolCall.Status.SUCCEEDED)
    states = done.filter(detail__has_key="state").order_by("pk").values_list("detail__path", "detail__state")
    return ReadState(dict(states))
