"""A tool as its server describes it, and what of that a provider takes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chat.agent.mcp.schema import UnfitError, repaired
from chat.agent.storable import storable

NAME_LIMIT = 200
DESCRIPTION_LIMIT = 1024
"""Characters; what some providers take, and more costs tokens in every request."""
_LARGEST_NUMBER = 2**63


@dataclass(frozen=True)
class Definition:
    """What a server says of one of its tools: all that a model would get to read of it.

    `known` is its fingerprint where that was kept with it: what was kept may be written otherwise.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    known: str = ""

    @property
    def fingerprint(self) -> str:
        """The same for the same name, description and schema, in whatever order the schema is written."""
        if self.known:
            return self.known
        told = json.dumps([self.name, self.description, self.schema], sort_keys=True)
        return hashlib.sha256(told.encode(errors="surrogatepass")).hexdigest()

    @classmethod
    def read(cls, name: str, description: str | None, schema: Mapping[str, Any]) -> Definition:
        """The definition as it came from a server, without what cannot be kept or sent on."""
        return cls(name, storable(description or ""), _plain(schema))

    @property
    def storable(self) -> bool:
        """Whether its name is one that can be kept: not empty, not endless, without halves of characters."""
        return 0 < len(self.name) <= NAME_LIMIT and self.name == storable(self.name)

    @property
    def problem(self) -> str:
        """Why it cannot be offered, as the end of a sentence; empty if it can."""
        try:
            repaired(self.schema)
        except UnfitError as reason:
            return str(reason)
        return ""

    @property
    def parameters(self) -> dict[str, Any]:
        """The schema as providers take it; raises UnfitError where it cannot be made so."""
        return repaired(self.schema)

    @property
    def summary(self) -> str:
        """The description, cut to what providers take."""
        text = self.description.strip()
        return text if len(text) <= DESCRIPTION_LIMIT else text[: DESCRIPTION_LIMIT - 1] + "…"


def _plain(value: Any) -> Any:
    """JSON without what databases or providers refuse: NUL, half characters, numbers beyond all bounds."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, int | float) and not -_LARGEST_NUMBER < value < _LARGEST_NUMBER:  # nor NaN
        return None
    return value
