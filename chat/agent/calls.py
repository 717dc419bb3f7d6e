"""Runs one tool call; whatever goes wrong becomes a result that the model reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from chat.agent.events import CallStatus, ToolCall
from chat.agent.prompts import Language, phrase
from chat.agent.tool import Tool, ToolError, ToolResult


@dataclass(frozen=True)
class Outcome:
    """How a call ended, with its result and the seconds it took."""

    status: CallStatus
    result: ToolResult
    seconds: float = 0

    @classmethod
    def failed(cls, text: str) -> Outcome:
        """The call failed, and this is what the model reads."""
        return cls("failed", ToolResult(text))

    @classmethod
    def denied(cls, text: str) -> Outcome:
        """The person said no, and this is what the model reads."""
        return cls("denied", ToolResult(text))

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
        return Outcome("succeeded", await tool.call(_arguments(call.arguments, language)))
    except ToolError as error:
        return Outcome.failed(str(error))
    except Exception as error:  # a tool's fault is the model's to read, whatever it is
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return Outcome.failed(phrase(language, "call.crashed", reason=reason))


def readable(arguments: str) -> bool:
    """Whether the arguments are JSON at all, or were cut on the way."""
    try:
        json.loads(arguments or "{}", strict=False)
    except (ValueError, RecursionError):
        return False
    return True


def _arguments(text: str, language: Language) -> dict[str, Any]:
    """The arguments as an object; an empty text means none. Raw line breaks in strings are let pass."""
    try:
        arguments = json.loads(text.strip() or "{}", strict=False)
        if isinstance(arguments, str):  # written as JSON twice
            arguments = json.loads(arguments, strict=False)
    except (ValueError, RecursionError) as error:
        raise ToolError(phrase(language, "call.not_json", reason=error)) from None
    if not isinstance(arguments, dict):
        raise ToolError(phrase(language, "call.not_an_object"))
    return arguments
