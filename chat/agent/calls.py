"""Runs one tool call; whatever goes wrong becomes a result that the model reads."""

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


# What templates and other clients' habits leave around a name.
_AHEAD = re.compile(r"^(functions?|tools?|default_api|multi_tool_use)[.:/]")
_BEHIND = re.compile(r"(<\||\(|:\d+$).*$", re.DOTALL)

# How the formats of Hermes, Qwen, Llama and Mistral begin a call, on a line of its own.
_WRITTEN = re.compile(r"^[ \t]*(<tool_call>|<function=|<\|python_tag\|>|\[TOOL_CALLS\])", re.MULTILINE)


def called(name: str, tools: Collection[str]) -> str:
    """The name of the one of `tools` that `name` stands for, or else `name` without what is around it.

    An exact name wins; otherwise a namespace in front, template words and numbers behind, and differences of
    case and of dashes are passed over, as long as that leaves no doubt.
    """
    if name in tools:
        return name
    bare = _BEHIND.sub("", _AHEAD.sub("", name.strip().strip("`'\"*"))).strip()
    if bare in tools:
        return bare
    alike = [tool for tool in tools if _plain(tool) == _plain(bare)]
    return alike[0] if len(alike) == 1 else bare


def written_call(text: str, tools: Iterable[str]) -> str:
    """The tool whose call a model wrote into its text in place of making it; empty for none.

    A call that is shown inside a code block is an example.
    """
    for found in _WRITTEN.finditer(text):
        beginning = text[found.end() : found.end() + 200]
        tool = next((tool for tool in tools if re.search(rf"\b{re.escape(tool)}\b", beginning)), "")
        if tool and text.count("```", 0, found.start()) % 2 == 0:
            return tool
    return ""


def _plain(name: str) -> str:
    return re.sub(r"[-_ ]", "", name).lower()


def answered_last(messages: Sequence[Mapping[str, Any]]) -> set[str]:
    """The ids of the calls whose results end the messages."""
    answered = set()
    for message in reversed(messages):
        if message["role"] != "tool":
            break
        answered.add(str(message["tool_call_id"]))
    return answered


def first_of_the_latest(messages: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The first result of the latest calls, if it has come."""
    asked = [place for place, message in enumerate(messages) if message.get("tool_calls")]
    results = [message for message in messages[asked[-1] :] if message["role"] == "tool"] if asked else []
    return results[0] if results else None
