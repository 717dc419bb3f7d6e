"""Runs a test as the users that may run the server: root and an ordinary user."""

from __future__ import annotations

import asyncio
import ctypes
import os
import pickle
import subprocess
import tempfile
import traceback
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from chat.agent.sandbox import CommandOutcome, Sandbox, SandboxLimits
from chat.agent.workspace import Workspace

PEOPLE = ["root", "user"] if os.geteuid() == 0 else ["user"]
USER = 47000
_PR_SET_DUMPABLE = 4


class Server:
    """A process that runs the sandbox as `person`, with a workspace, and someone else's secret beside it.

    Root's data lies beneath a folder of mode 0700, as in root's home. When the tests run as root, the
    ordinary user is a child process that has changed its user.
    """

    def __init__(self, person: str) -> None:
        self.changes_user = person == "user" and os.geteuid() == 0
        self.data = Path(tempfile.mkdtemp(prefix="data-"))
        self.secret = self.data / "other" / "secret.txt"
        self.secret.parent.mkdir()
        self.secret.write_text("a secret of someone else\n")
        if self.changes_user:
            for path in (self.data, self.secret.parent, self.secret):
                os.chown(path, USER, USER)
        self.workspace: Workspace = self.run(self._create)

    async def _create(self) -> Workspace:
        return Workspace.create(self.data / "workspaces" / "mine")

    @property
    def folder(self) -> Path:
        return self.workspace.path

    def bash(self, command: str, timeout: float = 20, **limits: int) -> CommandOutcome:
        async def scenario() -> CommandOutcome:
            return await Sandbox(SandboxLimits(**limits)).run(command, self.workspace, timeout)

        outcome: CommandOutcome = self.run(scenario)
        return outcome

    def run(self, scenario: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """The result of a coroutine function, run as this user."""
        return _in_child(scenario) if self.changes_user else asyncio.run(scenario())

    def close(self) -> None:
        subprocess.run(["rm", "-rf", self.data], check=True)  # at any depth


def _in_child(scenario: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _answer(writing, scenario)
    os.close(writing)
    with open(reading, "rb") as answer:
        told = answer.read()
    os.waitpid(child, 0)
    result, failure = pickle.loads(told)
    assert not failure, failure
    return result


def _answer(writing: int, scenario: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    """Become the ordinary user, run the scenario, send its result or error, and exit."""
    try:
        os.setgroups([])
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)
        ctypes.CDLL(None).prctl(
            _PR_SET_DUMPABLE, 1
        )  # as after a start by that user; otherwise /proc/self is root's
        told = (asyncio.run(scenario()), "")
    except BaseException:
        told = (None, traceback.format_exc())
    with open(writing, "wb") as answer:
        answer.write(pickle.dumps(told))
    os._exit(0)
