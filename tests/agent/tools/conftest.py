from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chat.agent.sandbox import Sandbox
from chat.agent.tool import Tool
from chat.agent.tools import workspace_tools
from chat.agent.workspace import Workspace
from tests.agent.tools.people import PEOPLE, Server


@pytest.fixture(params=PEOPLE)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    made = Server(request.param)
    yield made
    made.close()


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "workspaces" / "mine")


@pytest.fixture
def tools(workspace: Workspace) -> dict[str, Tool]:
    return {tool.name: tool for tool in workspace_tools(workspace, Sandbox())}
