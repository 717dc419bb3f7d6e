"""The tools of a request, named as endpoints take them, and those names taken back from the reply."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any

from chat.agent.model.plain_schema import plain_schema
from chat.agent.model.traits import Traits

log = logging.getLogger(__name__)

MOST = 128  # the most tools that endpoints take
_LONGEST = 64
_EMPTY = {"type": "object", "properties": {}}


class Toolbox:
    """The tools of one request; those beyond MOST are left out."""

    def __init__(self, tools: Sequence[Mapping[str, Any]], traits: Traits) -> None:
        self._traits = traits
        self._names: dict[str, str] = {}
        if len(tools) > MOST:
            log.warning("of %d tools only the first %d are offered to the model", len(tools), MOST)
        self.definitions = [self._definition(tool) for tool in tools[:MOST]]
        self._own_names = {sent: own for own, sent in self._names.items() if own != sent}

    def sent_name(self, own: str) -> str:
        """The name under which a tool, perhaps one of long ago, is spoken of."""
        return self._names.get(own) or _plain_name(own)

    def own_name(self, sent: str) -> str:
        """The tool's own name for one that the model used."""
        return self._own_names.get(sent, sent)

    def _definition(self, tool: Mapping[str, Any]) -> dict[str, Any]:
        function = tool.get("function")
        if not isinstance(function, Mapping):  # one that the provider runs by itself
            return dict(tool)
        made = {name: value for name, value in function.items() if name not in self._traits.drop_params}
        made["name"] = self._names[function["name"]] = self._free_name(str(function["name"]))
        parameters = {**_EMPTY, **(function.get("parameters") or {})}
        made["parameters"] = plain_schema(parameters) if self._traits.simple_schemas else parameters
        return {**tool, "function": made}

    def _free_name(self, own: str) -> str:
        name, number = _plain_name(own), 2
        while name in self._names.values():
            ending = f"_{number}"
            name, number = _plain_name(own)[: _LONGEST - len(ending)] + ending, number + 1
        return name


def _plain_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:_LONGEST] or "unnamed"
