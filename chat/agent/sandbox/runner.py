"""The sandbox: runs one confined command within limits and leaves no process behind."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from chat.agent.progress import report
from chat.agent.sandbox import bubblewrap, seccomp
from chat.agent.sandbox.bubblewrap import SandboxError, explain, invocation
from chat.agent.sandbox.limits import DiskUsage, SandboxLimits, disk_usage, memory_over
from chat.agent.sandbox.process import Output, Process
from chat.agent.workspace import Workspace

CommandSlot = Callable[[], AbstractAsyncContextManager[None]]
"""Returns a context in which one command may run; entering it may wait."""

UNBOUNDED: CommandSlot = nullcontext


class CommandSlots:
    """Limits concurrent commands; a free slot goes to the user with the fewest, then to the longest wait."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._running: Counter[Hashable] = Counter()
        self._waiting: dict[asyncio.Future[None], Hashable] = {}  # oldest first

    def of(self, user: Hashable, notice: str) -> CommandSlot:
        """The slots as this user takes them; a command that has to wait reports `notice`."""
        return partial(self._slot, user, notice)

    @asynccontextmanager
    async def _slot(self, user: Hashable, notice: str) -> AsyncIterator[None]:
        await self._acquire(user, notice)
        try:
            yield
        finally:
            self._release(user)

    async def _acquire(self, user: Hashable, notice: str) -> None:
        granted = asyncio.get_running_loop().create_future()
        self._waiting[granted] = user
        self._grant()
        if granted.done():
            return
        report(lambda: notice)
        try:
            await granted
        except asyncio.CancelledError:
            if self._waiting.pop(granted, None) is None:  # the slot was granted concurrently
                self._release(user)
            raise
        report(str)  # clears the notice: the command has no output yet

    def _release(self, user: Hashable) -> None:
        self._free += 1
        self._running[user] -= 1
        self._running += Counter()  # drops users without commands
        self._grant()

    def _grant(self) -> None:
        while self._free and self._waiting:
            granted = min(self._waiting, key=lambda each: self._running[self._waiting[each]])
            user = self._waiting.pop(granted)
            self._free -= 1
            self._running[user] += 1
            granted.set_result(None)


_COMMAND_LIMIT = 100 * 1024  # the kernel takes 128 KiB in one word
_FIRST_CHECK, _CHECK_INTERVAL = 0.2, 0.5  # seconds


class Ended(StrEnum):
    EXIT = "exit"
    TIMEOUT = "timeout"
    OUTPUT = "output"
    MEMORY = "memory"
    DISK = "disk"


@dataclass(frozen=True)
class CommandOutcome:
    output: str
    exit_code: int
    ended: Ended
    seconds: float
    note: str
    """A line in square brackets unless it was a plain success."""

    @property
    def ok(self) -> bool:
        return self.ended is Ended.EXIT and self.exit_code == 0


class Sandbox:
    """Runs shell commands in bubblewrap, with one writable workspace and no network.

    No process outlives its command, also if it times out, is cancelled, or the server dies.
    """

    def __init__(self, limits: SandboxLimits | None = None, slot: CommandSlot = UNBOUNDED) -> None:
        self.limits = limits or SandboxLimits()
        self.slot = slot
        """Callers enter it before `run`."""

    async def run(
        self,
        command: str,
        workspace: Workspace,
        timeout: float | None = None,
        on_output: Callable[[Output], object] | None = None,
    ) -> CommandOutcome:
        """Run `command` with bash in the workspace; `timeout` is in seconds, up to the limit.

        `on_output` is called with all kept output whenever there is more; it must be quick. Cancelling kills
        the command. Raises SandboxError if the sandbox failed, WorkspaceError if the workspace is gone.
        """
        _check(command)
        limits = self.limits
        seconds = min(timeout if timeout is not None else limits.seconds, limits.max_seconds)
        output = Output(limits.output_head, limits.output_tail)
        started = time.monotonic()
        with workspace.open_root() as folder, invocation(command, folder, seconds, limits) as call:
            process = Process(call, output, limits.output_total, on_output)
            ended = await self._end(process, workspace, seconds)
            if ended is Ended.EXIT and not process.ready:
                raise SandboxError(explain(process.setup_output.decode(errors="replace")))
        note = self._note(ended, process.exit_code, seconds)
        return CommandOutcome(output.text(), process.exit_code, ended, time.monotonic() - started, note)

    async def _end(self, process: Process, workspace: Workspace, seconds: float) -> Ended:
        watch = asyncio.create_task(self._watch(process, workspace))
        try:
            either: list[asyncio.Future[Any]] = [process.finished, watch]
            await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if process.finished.done():
                return Ended.OUTPUT if process.flooded else Ended.EXIT
            return watch.result() if watch.done() else Ended.TIMEOUT
        finally:
            watch.cancel()
            process.kill()
            await asyncio.shield(process.finished)

    async def _watch(self, process: Process, workspace: Workspace) -> Ended:
        before: DiskUsage | None = None
        pause = _FIRST_CHECK
        while True:
            await asyncio.sleep(pause)
            if await asyncio.to_thread(memory_over, process.pid, self.limits.memory):
                return Ended.MEMORY
            started = time.monotonic()
            current = await asyncio.to_thread(_disk_usage, workspace)
            if before and self._is_full(current) and not current.less_than(before):
                return Ended.DISK
            before = current
            pause = max(_CHECK_INTERVAL, 5 * (time.monotonic() - started))

    def _is_full(self, current: DiskUsage) -> bool:
        return current.size > self.limits.workspace_bytes or current.files > self.limits.workspace_files

    def _note(self, ended: Ended, exit_code: int, seconds: float) -> str:
        limits = self.limits
        match ended:
            case Ended.EXIT:
                return f"[exit code {exit_code}]" if exit_code else ""
            case Ended.TIMEOUT:
                return f"[timed out after {seconds:g} s]"
            case Ended.OUTPUT:
                return f"[killed: it printed more than {limits.output_total / 2**20:g} MiB]"
            case Ended.MEMORY:
                return f"[killed: it used more than {limits.memory / 2**20:g} MiB of memory]"
            case Ended.DISK:
                return (
                    f"[killed: the workspace holds more than {limits.workspace_bytes / 2**20:g} MiB "
                    f"or {limits.workspace_files} files; delete some]"
                )


def _check(command: str) -> None:
    if not command.strip():
        raise SandboxError("The command is empty.")
    if "\0" in command:
        raise SandboxError("The command contains a NUL character.")
    try:
        length = len(command.encode())
    except UnicodeEncodeError:
        raise SandboxError("The command contains a character that cannot be written as UTF-8.") from None
    if length > _COMMAND_LIMIT:
        raise SandboxError(
            "The command is longer than 100 KiB; write it to a file with write_file and run that."
        )


def _disk_usage(workspace: Workspace) -> DiskUsage:
    with workspace.open_root() as folder:
        return disk_usage(folder)


# Each line prints a problem; a working sandbox prints only the last word.
_SELF_TEST = """
[ "$(id -u)" = 1000 ] || echo "runs as user $(id -u)"
[ ! -e /etc/shadow ] || echo "/etc/shadow is there"
[ "$(cat /proc/1/comm)" = bwrap ] || echo "sees other processes"
set -- /proc/[0-9]*; [ $# -lt 8 ] || echo "sees $# processes"
[ "$(wc -l < /proc/net/route)" -le 1 ] || echo "has a network"
(echo x > /probe) 2>/dev/null && echo "can write to /"
(echo x > /usr/probe) 2>/dev/null && echo "can write to /usr"
(echo x > /workspace/probe) 2>/dev/null || echo "cannot write to its workspace"
echo held
"""


async def probe(folder: Path | None = None) -> str | None:
    """None if commands can run safely with workspaces in `folder`, else a sentence with cause and cure."""
    if missing := bubblewrap.missing_programs():
        packages = "bubblewrap" if missing == ["bwrap"] else "bubblewrap, util-linux and mount"
        return (
            f"Commands cannot run because {', '.join(missing)} is not installed: apt-get install {packages}."
        )
    if not seccomp.supported():
        return "Commands cannot run on this kind of processor: the sandbox knows x86_64 and aarch64."
    with tempfile.TemporaryDirectory(prefix="probe-", dir=folder, ignore_cleanup_errors=True) as path:
        try:
            outcome = await Sandbox().run(_SELF_TEST, Workspace.create(path), timeout=10)
        except SandboxError as error:
            return str(error)
    output = outcome.output.strip()
    return (
        None
        if output == "held" and outcome.ok
        else f"Commands cannot run: the sandbox failed its self-test ({output})."
    )
