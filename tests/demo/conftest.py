"""A seeded workspace, and conversations with the demo in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from chat.demo.server import ModelServer
from chat.demo.transport import answer
from chat.demo.workspace import seed
from tests.demo.clients import in_process
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
        # Large pieces keep the tests fast; small ones are tested with the server.
        server = ModelServer(lambda request: replace(answer(request), piece=500))
        return Conversation(in_process(server), workspace, policy, without)

    return begun
