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


@dataclass(frozen=True)
class Definition:
    """What a server says of one of its tools: all that a model would get to read of it."""

    name: str
    description: str
    schema: Mapping[str, Any]

    @property
    def fingerprint(self) -> str:
        """The same for the same name, description and schema, in whatever order the schema is written."""
        told = json.dumps([self.name, self.description, self.schema], sort_keys=True)
        return hashlib.sha256(told.encode(errors="surrogatepass")).hexdigest()

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
