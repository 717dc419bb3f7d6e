"""A started server: lines in, lines out, watched, and killed with all its kin."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import ExitStack, suppress
from typing import cast

from chat.agent.mcp.allowance import Allowance
from chat.agent.mcp.confinement import SCRATCH, invocation
from chat.agent.mcp.server import Program, ServerError
from chat.agent.sandbox.bubblewrap import READY, Invocation
from chat.agent.sandbox.diagnosis import explain
from chat.agent.sandbox.launch import ENVIRONMENT
from chat.agent.sandbox.limits import SandboxLimits
from chat.agent.sandbox.output import Output
from chat.agent.sandbox.process import first_process
from chat.agent.sandbox.watch import memory_over, usage
from chat.agent.workspace import Workspace

LINE = 8 * 1024**2
"""Bytes of one message."""
GRACE = 1.0  # seconds in which a server that is to end may do so by itself
LOOK = 2.0  # seconds between looks at what it uses
_CHUNK = 64 * 1024
_PATIENCE = 5.0  # seconds for a killed process to be gone


class ServerProcess:
    """A program that was started in the sandbox, up to where it begins itself.

    `over` says in a sentence why it will say nothing more; empty while it may.
    """

    def __init__(
        self, process: Process, program: Program, limits: SandboxLimits, status: int, held: ExitStack
    ) -> None:
        self.over = ""
        self._process, self._program, self._limits = process, program, limits
        self._status, self._held = status, held
        self._input = cast(asyncio.StreamWriter, process.stdin)
        self._output = cast(asyncio.StreamReader, process.stdout)
        self._errors = Output(1024, 3 * 1024)
        self._tasks = [asyncio.create_task(self._listen_to_errors()), asyncio.create_task(self._watch())]

    @classmethod
    async def start(cls, program: Program, limits: SandboxLimits | None = None) -> ServerProcess:
        """Start the program; raises ServerError when the system or the sandbox will not.

        To be called on the loop's thread: bubblewrap dies with the *thread* that starts it.
        """
        limits = limits or SandboxLimits()
        with ExitStack() as held:
            call = held.enter_context(invocation(program, limits))
            try:
                process = await _spawned(call)
            except OSError as error:
                raise ServerError(f"It could not be started: {error.strerror}.") from error
            return cls(process, program, limits, call.status, held.pop_all())

    @property
    def said(self) -> str:
        """The end of what it wrote to its standard error, where programs complain."""
        return self._errors.text().strip()

    async def let_go(self) -> None:
        """Have the program itself begin, once the sandbox stands; raises ServerError where it does not."""
        if await self._output.read(1) != READY:
            await self._tasks[0]
            raise ServerError(explain(self.said))
        self._input.write(b"\n")

    async def lines(self) -> AsyncIterator[bytes]:
        """What it writes, line by line, to its end or to where it writes too much."""
        allowance, rest = Allowance(), bytearray()
        while chunk := await self._output.read(_CHUNK):
            rest += chunk
            if not allowance.spend(len(chunk), chunk.count(b"\n")) or len(rest) > LINE + _CHUNK:
                self._end("It wrote without end, and was stopped.")
                return
            if b"\n" in chunk:
                *whole, rest = rest.split(b"\n")
                for line in whole:
                    yield bytes(line)
        await self._ended()

    async def write(self, line: bytes) -> None:
        """Write to it; raises OSError when it takes nothing more."""
        self._input.write(line)
        await self._input.drain()

    async def close(self) -> None:
        """End it, in a moment if it will, and with all that it started; and let go of everything.

        Cancelling whoever waits for this does not keep it from being done.
        """
        closing = asyncio.create_task(self._close())
        try:
            await asyncio.shield(closing)
        except asyncio.CancelledError:
            await asyncio.wait([closing])
            raise

    async def _close(self) -> None:
        self._input.close()
        # A pipe that nobody reads never ends, and a process with such a pipe is never told to be gone.
        self._tasks.append(asyncio.create_task(self._drain()))
        try:
            if not self.over:
                await self._gone(GRACE)
        finally:
            self._kill()
        await self._gone(_PATIENCE)
        self._tasks[1].cancel()  # the watch; the others read, and end with what they read
        await asyncio.wait(self._tasks, timeout=_PATIENCE)
        for task in self._tasks:
            task.cancel()
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                await self._input.wait_closed()
        self._held.close()

    async def _drain(self) -> None:
        while await self._output.read(_CHUNK):
            pass

    async def _gone(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._process.wait()

    async def _ended(self) -> None:
        """It has closed its output: by its end, most likely."""
        await self._gone(GRACE)
        code = self._process.returncode
        self._end("It closed its output." if code is None else f"It ended with exit code {_as_shells(code)}.")

    def _end(self, why: str) -> None:
        self.over = self.over or why
        self._kill()

    def _kill(self) -> None:
        """End everything at once: the process group, and process 1 of the sandbox's process namespace."""
        if self._process.returncode is not None:
            return
        first = first_process(self._status)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        if first:
            with suppress(ProcessLookupError):
                os.kill(first, signal.SIGKILL)

    async def _listen_to_errors(self) -> None:
        errors = cast(asyncio.StreamReader, self._process.stderr)
        while chunk := await errors.read(_CHUNK):
            self._errors.feed(chunk)

    async def _watch(self) -> None:
        """Look at memory and disk again and again; stop it where it uses too much."""
        while not self.over:
            await asyncio.sleep(LOOK)
            if await asyncio.to_thread(memory_over, self._process.pid, self._limits.memory):
                self._end(f"It used more than {self._limits.memory / 2**20:g} MiB of memory.")
            elif await asyncio.to_thread(self._fills_its_folder):
                self._end(f"Its folder holds more than {self._limits.workspace_bytes / 2**20:g} MiB.")

    def _fills_its_folder(self) -> bool:
        with Workspace(self._program.folder / SCRATCH).opened() as folder:
            now = usage(folder)
        limits = self._limits
        return now.size > limits.workspace_bytes or now.files > limits.workspace_files


async def _spawned(call: Invocation) -> Process:
    return await asyncio.create_subprocess_exec(
        *call.words,
        cwd=call.folder,
        env=ENVIRONMENT,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        pass_fds=call.descriptors,
        start_new_session=True,
        limit=_CHUNK,
    )


def _as_shells(code: int) -> int:
    return code if code >= 0 else 128 - code
