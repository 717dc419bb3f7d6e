"""What the engine is built after: five descriptions, a module each, with their statements in order.

Each statement is an assertion, or a pointer to the decision in docs/library.md that says why we differ.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agent.conftest import make_agent  # noqa: F401  a fixture

LIBRARY = Path(__file__).parent.parent.parent / "docs" / "library.md"

Recorded = Callable[[str], None]


@pytest.fixture
def recorded() -> Recorded:
    """Says that docs/library.md records a decision that begins so, with a reason after it."""

    def check(decision: str) -> None:
        decisions = LIBRARY.read_text(encoding="utf-8").partition("## Decisions")[2].split("\n- ")
        found = [each for each in decisions if each.startswith(f"**{decision}")]
        assert len(found) == 1, decision
        assert len(found[0].rpartition("**")[2].split()) > 5, "a reason"

    return check
