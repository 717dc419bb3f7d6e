"""A workspace, the record of how it began, and the conversation that it belongs to."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from chat.agent.scan import scan_workspace
from chat.agent.workspace import Workspace
from chat.files.baseline import Change, baseline_of, changes, keep_baseline
from chat.models import Conversation


@pytest.fixture(autouse=True)
def workspaces(settings: Any, tmp_path: Path) -> Path:
    settings.WORKSPACES = tmp_path / "workspaces"
    settings.WORKSPACE_SEED = None
    settings.WORKSPACE_ROOTS = []
    return tmp_path / "workspaces"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "work")


@pytest.fixture
def conversation(owner: User) -> Conversation:
    return Conversation.objects.create(owner=owner, title="Test")


@pytest.fixture
def changed(workspace: Workspace) -> Callable[[], dict[str, Change]]:
    """Store the baseline; the returned function gives the changes since."""
    pk = uuid.uuid4()

    def since() -> dict[str, Change]:
        return changes(workspace, baseline_of(pk), scan_workspace(workspace))

    keep_baseline(pk, workspace)
    return since
