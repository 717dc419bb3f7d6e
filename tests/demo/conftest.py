"""A seeded workspace, and conversations with the demo in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from chat.demo.workspace import seed
from tests.demo.turns import Conversation

Talk = Callable[..., Conversation]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder with the sample files in it."""
    folder = tmp_path / "workspace"
    seed(folder)
    return folder


@pytest.fixture
def talk(workspace: Path) -> Talk:
    """Start a conversation: `talk(policy, without=[...])`."""

    def begun(policy: str = "focused", without: tuple[str, ...] = ()) -> Conversation:
        return Conversation(workspace, policy, without)

    return begun
