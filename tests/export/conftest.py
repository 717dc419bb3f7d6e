"""Where the files of these conversations are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chat.export.importer import import_steps
from chat.export.json_file import json_pieces
from chat.models import Conversation


@pytest.fixture(autouse=True)
def workspaces(settings: Any, tmp_path: Path) -> Path:
    settings.WORKSPACES = tmp_path / "workspaces"
    return tmp_path / "workspaces"


def exported(conversation: Conversation) -> dict[str, Any]:
    """The conversation as its file has it."""
    found: dict[str, Any] = json.loads("".join(json_pieces(conversation)))
    return found


def imported(file: dict[str, Any], owner: User) -> Conversation:
    """The conversation that the import makes of the file."""
    steps = import_steps(json.dumps(file).encode(), owner)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            conversation: Conversation = end.value
            return conversation


@pytest.fixture
def owners(owner: User, browser_of: Callable[[User], Client]) -> Client:
    return browser_of(owner)
