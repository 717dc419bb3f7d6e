"""Runs one tool call; every failure becomes a result that the model reads."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chat.agent.arguments import decoded
from chat.agent.events import CallStatus, ToolCall
from chat.agent.prompts import Language, phrase
from chat.agent.storable import storable
from chat.agent.tool import REFUSAL, Tool, ToolError, ToolResult


class Undecided(Exception):  # noqa: N818 (a state, not an error)
    """No decision about the call yet: the turn ends as `waiting`, to be resumed later."""


@dataclass(frozen=True)
class CallOutcome:
    status: CallStatus
    result: ToolResult
    seconds: float = 0

    @classmethod
    def failed(cls, text: str, detail: Mapping[str, Any] | None = None) -> CallOutcome:
        return cls("failed", ToolResult(text, detail or {}))

    @classmethod
    def denied(cls, reason: str, language: Language) -> CallOutcome:
        which = "call.denied" if reason.strip() else "call.denied_silently"
        return cls("denied", ToolResult(storable(phrase(language, which, reason=reason.strip()))))

    def after(self, seconds: float) -> CallOutcome:
        return replace(self, seconds=seconds)


async def run_call(call: ToolCall, tools: Mapping[str, Tool], language: Language) -> CallOutcome:
    tool = tools.get(call.name)
    if tool is None:
        names = ", ".join(tools)
        return CallOutcome.failed(phrase(language, "call.unknown_tool", name=call.name, names=names))
    try:
        result = await tool.call(_parse_arguments(call.arguments, language))
    except ToolError as error:
        return CallOutcome.failed(storable(str(error)), error.detail)
    except asyncio.CancelledError as error:
        if _is_cancelled():
            raise
        return _crash_outcome(error, language)
    except Exception as error:  # whatever a tool raises, the model reads it
        return _crash_outcome(error, language)
    return CallOutcome("succeeded", replace(result, text=storable(result.text)))


def _is_cancelled() -> bool:
    """Whether this task is being cancelled, as opposed to something that the tool awaited."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _crash_outcome(error: BaseException, language: Language) -> CallOutcome:
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return CallOutcome.failed(storable(phrase(language, "call.crashed", reason=reason)))


def _parse_arguments(text: str, language: Language) -> dict[str, Any]:
    try:
        arguments = decoded(text)
    except (ValueError, RecursionError) as error:
        raise ToolError(phrase(language, "call.not_json", reason=error), {REFUSAL: "call.not_json"}) from None
    if not isinstance(arguments, dict):
        raise ToolError(phrase(language, "call.not_an_object"), {REFUSAL: "call.not_an_object"})
    return arguments


# What chat templates and other clients' conventions leave around a name.
_PREFIX = re.compile(r"^(functions?|tools?|default_api|multi_tool_use)[.:/]")
_SUFFIX = re.compile(r"(<\||\(|:\d+$).*$", re.DOTALL)

# How a call begins in the formats of Hermes, Qwen, Llama and Mistral, on its own line.
_WRITTEN_CALL = re.compile(r"^[ \t]*(<tool_call>|<function=|<\|python_tag\|>|\[TOOL_CALLS\])", re.MULTILINE)


def match_tool_name(name: str, tools: Collection[str]) -> str:
    """Match a name as models write it to one of `tools`; without a match, return it stripped of wrapping.

    Ignores namespace prefixes, template tokens, trailing numbers, case and dashes if one tool matches.
    """
    if name in tools:
        return name
    bare = _SUFFIX.sub("", _PREFIX.sub("", name.strip().strip("`'\"*"))).strip()
    if bare in tools:
        return bare
    alike = [tool for tool in tools if _normalized(tool) == _normalized(bare)]
    return alike[0] if len(alike) == 1 else bare


def written_call(text: str, tools: Iterable[str]) -> str:
    """The tool whose call the model wrote as text (outside of code blocks) instead of making it, or ""."""
    for match in _WRITTEN_CALL.finditer(text):
        beginning = text[match.end() : match.end() + 200]
        tool = next((tool for tool in tools if re.search(rf"\b{re.escape(tool)}\b", beginning)), "")
        if tool and text.count("```", 0, match.start()) % 2 == 0:
            return tool
    return ""


def _normalized(name: str) -> str:
    return re.sub(r"[-_ ]", "", name).lower()


def answered_call_ids(messages: Sequence[Mapping[str, Any]]) -> set[str]:
    answered = set()
    for message in reversed(messages):
        if message["role"] != "tool":
            break
        answered.add(str(message["tool_call_id"]))
    return answered


def first_latest_result(messages: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    requests = [index for index, message in enumerate(messages) if message.get("tool_calls")]
    latest = messages[requests[-1] :] if requests else []
    return next((message for message in latest if message["role"] == "tool"), None)
