"""Points at which a process may die: ahead of each database statement and commit, and around each tool.

They are counted from the moment at which a conversation is begun, and noted in the file that CRASH_LOG names;
without the file nothing is counted. CRASH_AT names the one at which the process kills itself, 0 for none.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

from django.db.backends.signals import connection_created

from chat.agent.tool import Tool, ToolResult

BEGINNING = 'INSERT INTO "chat_conversation"'


class Countdown:
    """Counts the points of this process, from whichever thread they come."""

    def __init__(self, crash_at: int, log: str) -> None:
        self.crash_at = crash_at
        self.log = log
        self.count = 0
        self.begun = False
        self.lock = threading.Lock()

    def statement(self, execute: Callable[..., Any], sql: str, *more: Any) -> Any:
        """Django's hook around each statement."""
        self.begun = self.begun or sql.startswith(BEGINNING)
        self.pass_point(sql)
        return execute(sql, *more)

    def pass_point(self, what: str) -> None:
        """Note the point, and die here if it is the one."""
        if not self.begun:
            return
        with self.lock, contextlib.suppress(FileNotFoundError), open(self.log, "r+") as log:
            fcntl.flock(log, fcntl.LOCK_EX)
            if os.fstat(log.fileno()).st_nlink:
                self._note(log, " ".join(what.split())[:120])

    def _note(self, log: TextIO, what: str) -> None:
        self.count += 1
        log.seek(0, os.SEEK_END)
        log.write(f"{self.count} {what}\n")
        log.flush()
        if self.count == self.crash_at:
            os.kill(os.getpid(), signal.SIGKILL)
            signal.pause()  # the signal may take a moment to come


def end_of_counting(log: Path) -> list[str]:
    """The points that were noted; from now on none is, and no process dies at one."""
    with log.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        log.unlink()
        return file.read().splitlines()


def install() -> None:
    """Count every statement, commit and tool call of this process."""
    countdown = Countdown(int(os.environ["CRASH_AT"]), os.environ["CRASH_LOG"])

    def count_statements(connection: Any, **_: Any) -> None:
        if countdown.statement in connection.execute_wrappers:
            return  # it was connected before
        commit = connection.commit

        def counted_commit() -> None:
            countdown.pass_point("COMMIT")
            commit()

        connection.execute_wrappers.append(countdown.statement)
        connection.commit = counted_commit

    connection_created.connect(count_statements, weak=False)
    call = Tool.call

    async def counted_call(tool: Tool, arguments: Mapping[str, Any]) -> ToolResult:
        countdown.pass_point(f"before {tool.name}")
        result = await call(tool, arguments)
        countdown.pass_point(f"after {tool.name}")
        return result

    Tool.call = counted_call  # type: ignore[method-assign, assignment]
