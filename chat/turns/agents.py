"""From a turn's profile to the agent that answers it."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
from typing import Any, cast

from django.conf import settings
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
from chat.files.conversation_workspace import open_workspace, quota_of
from chat.files.pictures import PictureStore
from chat.models import Conversation, Profile, Rule, ToolCall, Turn

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
            cls.problem = _("Shell commands are turned off (SANDBOX=off).")
        else:
            await asyncio.to_thread(settings.WORKSPACES.mkdir, parents=True, exist_ok=True)
            cls.problem = await probe(settings.WORKSPACES)
        cls.known = True


@functools.cache
def command_slots() -> CommandSlots:
    """The command slots of this process."""
    return CommandSlots(settings.MAX_COMMANDS)


def slot_for(turn: Turn) -> CommandSlot:
    """A slot for a command of the turn, shared fairly between users."""
    notice = _("Waiting for another command to finish.")
    return command_slots().of(turn.conversation.owner_id, notice)


async def agent_for(turn: Turn) -> Agent:
    """The agent of the turn's conversation, with its tools on its workspace and those of MCP servers."""
    await Shell.find_out()
    profile, model, seen = await in_database(_read, turn)
    slot = slot_for(turn)
    further = await mcp_servers().tools(profile, slot)
    # A workspace may be large: its state at the start is taken on no database thread.
    workspace = await asyncio.to_thread(open_workspace, turn.conversation)
    offered = [*_tools_for(turn.conversation, workspace, seen, slot), *further]
    return Agent(
        name=profile.name,
        instructions=profile.instructions,
        model=model,
        tools=[tool for tool in offered if profile.rule_for(tool.name) != Rule.NEVER],
        todo_policy=policy_of(profile),
        limits=limits_of_turn(profile),
        retry=Retry(seconds=settings.MODEL_RETRY_SECONDS),
        language=cast(Language, profile.language),
        workspace=WORKSPACE_AS_SEEN,
        **options_of(profile),
    )


def _read(turn: Turn) -> tuple[Profile, Model, ReadState]:
    """What rows say of the agent; that of the conversation's profile is read along."""
    _chosen = turn.conversation.profile
    return turn.profile, model_for(turn.profile), seen_in(turn.conversation)


def _tools_for(
    conversation: Conversation, workspace: Workspace, seen: ReadState, slot: CommandSlot
) -> list[Tool]:
    sandbox = None if Shell.problem else Sandbox(limits_of(conversation), slot)
    return workspace_tools(workspace, sandbox, seen, PictureStore(conversation.pk).keep)


def limits_of(conversation: Conversation) -> SandboxLimits:
    """What a command may use: of the disk as much as its workspace may hold."""
    quota = quota_of(conversation)
    size, files = (quota.size, quota.files) if quota else (UNBOUNDED, UNBOUNDED)
    return SandboxLimits(workspace_bytes=size, workspace_files=files)


def policy_of(profile: Profile) -> TodoPolicy:
    """The profile's todo policy, with its own numbers where it has any."""
    policy = as_policy(profile.todo_policy)
    remind_after = profile.remind_after or policy.remind_after
    return dataclasses.replace(policy, max_items=profile.max_todos, remind_after=remind_after)


def limits_of_turn(profile: Profile) -> Limits:
    """What ends a turn; what the profile leaves open is as usual."""
    wished = {
        "steps": profile.max_steps,
        "tool_calls": profile.max_tool_calls,
        "seconds": profile.max_seconds,
    }
    return dataclasses.replace(Limits(), **{name: value for name, value in wished.items() if value})


def options_of(profile: Profile) -> dict[str, Any]:
    """What goes into every request; what the profile leaves open is the endpoint's to choose."""
    wished = {
        "temperature": profile.temperature,
        "top_p": profile.top_p,
        "max_tokens": profile.max_output_tokens,
        "reasoning_effort": profile.reasoning_effort or None,
    }
    return {name: value for name, value in wished.items() if value is not None}


def seen_in(conversation: Conversation) -> ReadState:
    """The states in which the conversation's tool calls last read or wrote its files."""
    done = ToolCall.objects.filter(turn__conversation=conversation, status=ToolCall.Status.SUCCEEDED)
    told = done.filter(detail__has_key="state").order_by("pk").values_list("detail__path", "detail__state")
    return ReadState(dict(told))
