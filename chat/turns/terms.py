"""The terms of a profile, as the engine takes them."""

from __future__ import annotations

import dataclasses
from typing import Any

from chat.agent import Limits, TodoPolicy
from chat.agent.todo import as_policy
from chat.models import Profile


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
