"""Runs one tool call; whatever goes wrong becomes a result that the model reads."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from chat.agent.arguments import decoded
from chat.agent.events import CallStatus, ToolCall
from chat.agent.prompts import Language, phrase
from chat.agent.storable import storable
from chat.agent.tool import Tool, ToolError, ToolResult


class Undecided(Exception):  # noqa: N818 (a state, told by whoever is asked for a decision)
    """Nobody has decided about the call yet, so the turn ends as `waiting`, to be taken up again later."""


@dataclass(frozen=True)
class Outcome:
    """How a call ended, with its result and the seconds it took."""

    status: CallStatus
    result: ToolResult
    seconds: float = 0

    @classmethod
    def failed(cls, text: str, detail: Mapping[str, Any] | None = None) -> Outcome:
        """The call failed, and this is what the model reads."""
        return cls("failed", ToolResult(text, detail or {}))

    @classmethod
    def denied(cls, reason: str, language: Language) -> Outcome:
        """The person said no, perhaps with a reason, which the model reads."""
        which = "call.denied" if reason.strip() else "call.denied_silently"
        return cls("denied", ToolResult(storable(phrase(language, which, reason=reason.strip()))))

    def after(self, seconds: float) -> Outcome:
        """The same outcome, having taken so long."""
        return replace(self, seconds=seconds)


async def outcome(call: ToolCall, tools: Mapping[str, Tool], language: Language) -> Outcome:
    """Run the call with the tool of its name."""
    tool = tools.get(call.name)
    if tool is None:
        names = ", ".join(tools)
        return Outcome.failed(phrase(language, "call.unknown_tool", name=call.name, names=names))
    try:
        result = await tool.call(_arguments(call.arguments, language))
    except ToolError as error:
        return Outcome.failed(storable(str(error)), error.detail)
    except asyncio.CancelledError as error:
        if _stopping():
            raise
        return _crashed(error, language)
    except Exception as error:  # a tool's fault is the model's to read, whatever it is
        return _crashed(error, language)
    return Outcome("succeeded", replace(result, text=storable(result.text)))


def _stopping() -> bool:
    """Whether it is this task that is being cancelled, and not something that the tool waited for."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _crashed(error: BaseException, language: Language) -> Outcome:
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return Outcome.failed(storable(phrase(language, "call.crashed", reason=reason)))


def _arguments(text: str, language: Language) -> dict[str, Any]:
    try:
        arguments = decoded(text)
    except (ValueError, RecursionError) as error:
        raise ToolError(phrase(language, "call.not_json", reason=error)) from None
    if not isinstance(arguments, dict):
        raise ToolError(phrase(language, "call.not_an_object"))
    return arguments
