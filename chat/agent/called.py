"""The tool that a model means, by the name that it wrote."""

from __future__ import annotations

import re
from collections.abc import Collection

# What templates and other clients' habits leave around a name.
_AHEAD = re.compile(r"^(functions?|tools?|default_api|multi_tool_use)[.:/]")
_BEHIND = re.compile(r"(<\||\(|:\d+$).*$", re.DOTALL)


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


def _plain(name: str) -> str:
    return re.sub(r"[-_ ]", "", name).lower()
