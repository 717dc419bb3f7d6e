"""MCP over a sandboxed process's standard input and output."""

from __future__ import annotations

import asyncio
import os
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import cast

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, jsonrpc_message_adapter

from chat.agent.mcp.server import BURST, PIECE, RATE, Program, ServerError
from chat.agent.ownership import group_of, is_root
from chat.agent.sandbox import SandboxError
from chat.agent.sandbox.bubblewrap import (
    ENVIRONMENT,
    READY,
    Invocation,
    can_unshare,
    confined,
    explain,
    launch_prefix,
)
from chat.agent.sandbox.limits import SandboxLimits, disk_usage, memory_over
from chat.agent.sandbox.process import Output, exit_code, kill_sandbox
from chat.agent.token_bucket import TokenBucket
from chat.agent.workspace import Workspace

# Notifications that are passed on; others (logging, progress) would only cost time.
_NOTIFICATIONS = {"notifications/tools/list_changed"}

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


@asynccontextmanager
async def pipes(
    program: Program, on_end: Callable[[ServerProcess], None]
) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Start the program and return its streams; `on_end` is called when it closes its output."""
    process = await ServerProcess.start(program)
    received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        await process.start_program()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_receive_messages, process, received, on_end)
            tasks.start_soon(_send_messages, process, to_send)
            try:
                yield incoming, outgoing
            finally:
                tasks.cancel_scope.cancel()
    finally:
        for stream in (received, incoming, outgoing, to_send):
            stream.close()
        with anyio.CancelScope(shield=True):
            await process.close()


async def _receive_messages(
    process: ServerProcess,
    received: MemoryObjectSendStream[SessionMessage | Exception],
    on_end: Callable[[ServerProcess], None],
) -> None:
    async with received:
        async for line in process.lines():
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:  # a banner or a stray print, which many servers write
                continue
            if isinstance(message, JSONRPCNotification) and message.method not in _NOTIFICATIONS:
                continue
            try:
                await received.send(SessionMessage(message))
            except anyio.BrokenResourceError:
                return
    on_end(process)


async def _send_messages(process: ServerProcess, to_send: MemoryObjectReceiveStream[SessionMessage]) -> None:
    async with to_send:
        async for item in to_send:
            line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                await process.write(line.encode() + b"\n")
            except OSError:  # the process has ended, which the reader detects
                return


MAX_LINE = 8 * 1024**2  # bytes of one message
GRACE = 1.0  # seconds for a server to exit by itself
CHECK_INTERVAL = 2.0  # seconds between checks of what it uses
_CHUNK = 64 * 1024
_KILL_TIMEOUT = 5.0  # seconds for a killed process to be gone


class ServerProcess:
    """A sandboxed program; `end_reason` is a sentence once it has ended, else empty."""

    def __init__(
        self, process: Process, program: Program, limits: SandboxLimits, status: int, resources: ExitStack
    ) -> None:
        self.end_reason = ""
        self._process, self._program, self._limits = process, program, limits
        self._status, self._resources = status, resources
        self._input = cast(asyncio.StreamWriter, process.stdin)
        self._output = cast(asyncio.StreamReader, process.stdout)
        self._errors = Output(1024, 3 * 1024)
        self._tasks = [asyncio.create_task(self._read_errors()), asyncio.create_task(self._watch())]

    @classmethod
    async def start(cls, program: Program, limits: SandboxLimits | None = None) -> ServerProcess:
        """Set up the sandbox; raises ServerError if the system or the sandbox fails.

        To be called on the loop's thread: bubblewrap dies with the *thread* that starts it.
        """
        limits = limits or SandboxLimits()
        with ExitStack() as resources:
            call = resources.enter_context(invocation(program, limits))
            try:
                process = await _spawn(call)
            except OSError as error:
                raise ServerError(f"It could not be started: {error.strerror}.") from error
            return cls(process, program, limits, call.status, resources.pop_all())

    @property
    def stderr_text(self) -> str:
        return self._errors.text().strip()

    async def start_program(self) -> None:
        """Start the program itself, once the sandbox is ready; raises ServerError if it is not."""
        if await self._output.read(1) != READY:
            await self._tasks[0]
            raise ServerError(explain(self.stderr_text))
        self._input.write(b"\n")

    async def lines(self) -> AsyncIterator[bytes]:
        """Its output, line by line, until it ends or writes too much."""
        bucket, rest = TokenBucket(BURST, RATE), bytearray()
        while chunk := await self._output.read(_CHUNK):
            rest += chunk
            cost = max(len(chunk), PIECE * chunk.count(b"\n"))
            if not bucket.take(cost) or len(rest) > MAX_LINE + _CHUNK:
                self._end("It wrote without end, and was stopped.")
                return
            if b"\n" in chunk:
                *whole, rest = rest.split(b"\n")
                for line in whole:
                    yield bytes(line)
        await self._output_closed()

    async def write(self, line: bytes) -> None:
        self._input.write(line)
        await self._input.drain()

    async def close(self) -> None:
        """End it with all its descendants; completes even if the caller is cancelled."""
        closing = asyncio.create_task(self._close())
        try:
            await asyncio.shield(closing)
        except asyncio.CancelledError:
            await asyncio.wait([closing])
            raise

    async def _close(self) -> None:
        self._input.close()
        # The end of a process is only reported once its pipes are read to their end.
        self._tasks.append(asyncio.create_task(self._drain()))
        try:
            if not self.end_reason:
                await self._wait(GRACE)
        finally:
            self._kill()
        await self._wait(_KILL_TIMEOUT)
        self._tasks[1].cancel()  # _watch; the others end with the pipes that they read
        await asyncio.wait(self._tasks, timeout=_KILL_TIMEOUT)
        for task in self._tasks:
            task.cancel()
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(_KILL_TIMEOUT):
                await self._input.wait_closed()
        self._resources.close()

    async def _drain(self) -> None:
        while await self._output.read(_CHUNK):
            pass

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._process.wait()

    async def _output_closed(self) -> None:
        await self._wait(GRACE)
        code = self._process.returncode
        self._end("It closed its output." if code is None else f"It ended with exit code {exit_code(code)}.")

    def _end(self, why: str) -> None:
        self.end_reason = self.end_reason or why
        self._kill()

    def _kill(self) -> None:
        if self._process.returncode is None:
            kill_sandbox(self._process.pid, self._status)

    async def _read_errors(self) -> None:
        errors = cast(asyncio.StreamReader, self._process.stderr)
        while chunk := await errors.read(_CHUNK):
            self._errors.feed(chunk)

    async def _watch(self) -> None:
        while not self.end_reason:
            await asyncio.sleep(CHECK_INTERVAL)
            if await asyncio.to_thread(memory_over, self._process.pid, self._limits.memory):
                self._end(f"It used more than {self._limits.memory / 2**20:g} MiB of memory.")
            elif await asyncio.to_thread(self._exceeds_disk):
                self._end(f"Its folder holds more than {self._limits.workspace_bytes / 2**20:g} MiB.")

    def _exceeds_disk(self) -> bool:
        with Workspace(self._program.folder / SCRATCH).open_root() as folder:
            used = disk_usage(folder)
        limits = self._limits
        return used.size > limits.workspace_bytes or used.files > limits.workspace_files


async def _spawn(call: Invocation) -> Process:
    return await asyncio.create_subprocess_exec(
        *call.argv,
        cwd=call.folder,
        env=ENVIRONMENT,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        pass_fds=call.descriptors,
        start_new_session=True,
        limit=_CHUNK,
    )


HOME = "/data"
"""The scratch folder's path inside the sandbox, and the working directory."""
SCRATCH = "scratch"
_UNLIMITED = 100 * 365 * 24 * 3600  # seconds of processor time
# As for `bash`, but the program continues to read from the same input.
_GATE = """printf '\\0' && read -r go && exec "$@" """
# In a new mount namespace, everything that the server may read is mounted beneath its folder, which is then
# bound over /tmp, where every user can reach it, whatever the modes of the parents.
_ASSEMBLE = """count=$1; shift; place=0
while [ $place -lt $count ]; do
    mount --bind -- "$1" "readable/$place" || exit 1
    shift; place=$((place + 1))
done
mount -c --rbind . /tmp && cd / && unset OLDPWD PWD && exec "$@"
"""


@contextmanager
def invocation(program: Program, limits: SandboxLimits) -> Iterator[Invocation]:
    """How to start the program in the sandbox; raises ServerError. The descriptors are closed on exit."""
    _check(program)
    prefix = _launch_prefix(program, _prepare(program))
    words = ["prlimit", *limits.prlimit(_UNLIMITED), "--", "/bin/sh", "-c", _GATE, "sh", *program.words]
    environment = {"HOME": HOME, "PYTHONUNBUFFERED": "1", **program.environment}
    sandbox = confined(words, _mounts(program), HOME, environment, limits, network=program.network)
    with sandbox as (argv, descriptors, status):
        yield Invocation([*prefix, *argv], str(program.folder), descriptors, status)


def _check(program: Program) -> None:
    texts = [*program.words, *program.readable, *program.environment, *program.environment.values()]
    if not program.words or any("\0" in text for text in texts):
        raise ServerError("Its command is empty, or something of it contains a NUL character.")
    for folder in program.readable:
        if not os.path.isdir(folder):
            raise ServerError(f"It is to read {folder}, which is no folder here.")


def _prepare(program: Program) -> os.stat_result:
    try:
        (program.folder / "readable").mkdir(parents=True, exist_ok=True)
        for place, _folder in enumerate(program.readable):
            (program.folder / "readable" / str(place)).mkdir(exist_ok=True)
        program.folder.chmod(0o711)
        return os.stat(Workspace.create(program.folder / SCRATCH).path)
    except OSError as error:
        raise ServerError(f"Its folder cannot be made: {error.strerror}.") from error


def _launch_prefix(program: Program, scratch: os.stat_result) -> list[str]:
    """The argv prefix by which root becomes the scratch folder's owner."""
    try:
        words = launch_prefix(scratch)
    except SandboxError:
        raise ServerError("Its scratch folder belongs to root, and no server ever runs as root.") from None
    if not _uses_mount_namespace():
        return words
    drop = ["setpriv", f"--reuid={scratch.st_uid}", f"--regid={group_of(scratch)}", "--clear-groups", "--"]
    unshare = ["unshare", "--mount", "--propagation", "private", "--", "/bin/sh", "-c", _ASSEMBLE, "sh"]
    return [*unshare, str(len(program.readable)), *program.readable, *drop]


def _uses_mount_namespace() -> bool:
    return is_root() and can_unshare()


def _mounts(program: Program) -> list[str]:
    mounted = Path("/tmp") if _uses_mount_namespace() else None  # noqa: S108 - see _ASSEMBLE
    words: list[str] = []
    for place, folder in enumerate(program.readable):
        words += ["--ro-bind", str(mounted / "readable" / str(place)) if mounted else folder, folder]
    return [*words, "--bind", str((mounted or program.folder) / SCRATCH), HOME]
