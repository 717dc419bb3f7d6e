"""Runs one tool call; whatever goes wrong becomes a result that the model reads."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from chat.agent.events import CallStatus, ToolCall
from chat.agent.prompts import Language, phrase
from chat.agent.storable import storable
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
        result = await tool.call(_arguments(call.arguments, language))
    except ToolError as error:
        return Outcome.failed(storable(str(error)))
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


def readable(arguments: str) -> bool:
    """Whether the arguments are JSON at all, or were cut on the way, perhaps before they began."""
    try:
        _decoded(arguments)
    except (ValueError, RecursionError):
        return False
    return True


def _arguments(text: str, language: Language) -> dict[str, Any]:
    """The arguments as an object; an empty text means none. Raw line breaks in strings are let pass."""
    try:
        arguments = _decoded(text.strip() or "{}")
        if isinstance(arguments, str):  # written as JSON twice
            arguments = _decoded(arguments)
    except (ValueError, RecursionError) as error:
        raise ToolError(phrase(language, "call.not_json", reason=error)) from None
    if not isinstance(arguments, dict):
        raise ToolError(phrase(language, "call.not_an_object"))
    return arguments


def _decoded(text: str) -> Any:
    decoded = json.loads(text, strict=False, parse_constant=_no_number, parse_float=_finite)
    return _storable(decoded) if "\\u" in text else decoded


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not a number")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _no_number(digits)


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [_storable(part) for part in value]
    if isinstance(value, dict):
        return {storable(name): _storable(part) for name, part in value.items()}
    return value
