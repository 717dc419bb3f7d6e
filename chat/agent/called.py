"""The tool that a model means, by the name that it wrote."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

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
