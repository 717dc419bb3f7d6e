"""The protocol's messages over a process's standard input and output."""

from __future__ import annotations

import asyncio
import functools
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import cast

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, jsonrpc_message_adapter

from chat.agent.mcp.server import Allowance, Program, ServerError
from chat.agent.ownership import group_of, is_root
from chat.agent.sandbox import SandboxError, seccomp
from chat.agent.sandbox.bubblewrap import (
    ENVIRONMENT,
    FILES,
    NAMESPACES,
    READY,
    Invocation,
    can_unshare,
    explain,
    launch_prefix,
    memory_file,
    system_mounts,
    tmpfs,
)
from chat.agent.sandbox.limits import SandboxLimits, memory_over, usage
from chat.agent.sandbox.process import Output, first_process
from chat.agent.workspace import Workspace

# Of what a server says unasked; the rest (its log, its progress) would only cost time.
_HEEDED = {"notifications/tools/list_changed"}

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


@asynccontextmanager
async def pipes(
    program: Program, on_end: Callable[[ServerProcess], None]
) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Start the program and give the streams that the protocol's client takes.

    `on_end` is called when the program says nothing more. At the end it is ended with all its kin.
    """
    process = await ServerProcess.start(program)
    heard, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_say = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        await process.let_go()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_listen, process, heard, on_end)
            tasks.start_soon(_speak, process, to_say)
            try:
                yield incoming, outgoing
            finally:
                tasks.cancel_scope.cancel()
    finally:
        for stream in (heard, incoming, outgoing, to_say):
            stream.close()
        with anyio.CancelScope(shield=True):
            await process.close()


async def _listen(
    process: ServerProcess,
    heard: MemoryObjectSendStream[SessionMessage | Exception],
    on_end: Callable[[ServerProcess], None],
) -> None:
    async with heard:
        async for line in process.lines():
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:  # a banner, a stray print: many servers write such
                continue
            if isinstance(message, JSONRPCNotification) and message.method not in _HEEDED:
                continue
            try:
                await heard.send(SessionMessage(message))
            except anyio.BrokenResourceError:
                return
    on_end(process)


async def _speak(process: ServerProcess, to_say: MemoryObjectReceiveStream[SessionMessage]) -> None:
    async with to_say:
        async for said in to_say:
            line = said.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                await process.write(line.encode() + b"\n")
            except OSError:  # it has ended, which whoever listens to it finds out
                return


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
        with Workspace(self._program.folder / SCRATCH).open_root() as folder:
            now = usage(folder)
        limits = self._limits
        return now.size > limits.workspace_bytes or now.files > limits.workspace_files


async def _spawned(call: Invocation) -> Process:
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


def _as_shells(code: int) -> int:
    return code if code >= 0 else 128 - code


HOME = "/data"
"""Where the server sees its scratch folder, in which it starts."""
SCRATCH = "scratch"
_FOREVER = 100 * 365 * 24 * 3600  # seconds of processor time
_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": HOME,
    "TMPDIR": "/tmp",  # noqa: S108 - the sandbox's own
    "USER": "user",
    "LOGNAME": "user",
    "LANG": "C.UTF-8",
    "PYTHONUNBUFFERED": "1",
}
# As for `bash`, but what follows reads from the input that the line came from.
_GATE = """printf '\\0' && read -r go && exec "$@" """
# In a mount namespace of its own, what the server may see is put together beneath its folder, and that is
# bound over /tmp, which every user can reach, whatever the modes of the parents say.
_ASSEMBLE = """count=$1; shift; place=0
while [ $place -lt $count ]; do
    mount --bind -- "$1" "readable/$place" || exit 1
    shift; place=$((place + 1))
done
mount -c --rbind . /tmp && cd / && unset OLDPWD PWD && exec "$@"
"""


@contextmanager
def invocation(program: Program, limits: SandboxLimits) -> Iterator[Invocation]:
    """How to start the program in the sandbox. The descriptors are closed at the end.

    Raises ServerError when it cannot be started here.
    """
    _check(program)
    scratch = _prepare(program)
    with ExitStack() as opened:
        memory = functools.partial(memory_file, opened)
        files = {path: memory(text.encode()) for path, text in FILES.items()}
        status, filter_ = memory(), memory(seccomp.program())
        arguments = memory("\0".join(_arguments(program, files, limits)).encode())
        words = [
            "bwrap",
            "--args",
            str(arguments),
            "--seccomp",
            str(filter_),
            "--json-status-fd",
            str(status),
        ]
        words += ["--", "prlimit", *limits.prlimit(_FOREVER), "--", "/bin/sh", "-c", _GATE, "sh"]
        words = [*_start(program, scratch), *words, *program.words]
        yield Invocation(words, str(program.folder), [*files.values(), status, filter_, arguments], status)


def _check(program: Program) -> None:
    texts = [*program.words, *program.readable, *program.environment, *program.environment.values()]
    if not program.words or any("\0" in text for text in texts):
        raise ServerError("Its command is empty, or something of it contains a NUL character.")
    for folder in program.readable:
        if not os.path.isdir(folder):
            raise ServerError(f"It is to read {folder}, which is no folder here.")


def _prepare(program: Program) -> os.stat_result:
    """Make the server's folder, with a scratch folder that the sandbox's user owns."""
    try:
        (program.folder / "readable").mkdir(parents=True, exist_ok=True)
        for place, _folder in enumerate(program.readable):
            (program.folder / "readable" / str(place)).mkdir(exist_ok=True)
        program.folder.chmod(0o711)
        return os.stat(Workspace.create(program.folder / SCRATCH).path)
    except OSError as error:
        raise ServerError(f"Its folder cannot be made: {error.strerror}.") from error


def _start(program: Program, scratch: os.stat_result) -> list[str]:
    """The words before `bwrap`, by which root becomes the scratch folder's owner."""
    try:
        words = launch_prefix(scratch)
    except SandboxError:
        raise ServerError("Its scratch folder belongs to root, and no server ever runs as root.") from None
    if not _assembles():
        return words
    drop = ["setpriv", f"--reuid={scratch.st_uid}", f"--regid={group_of(scratch)}", "--clear-groups", "--"]
    unshare = ["unshare", "--mount", "--propagation", "private", "--", "/bin/sh", "-c", _ASSEMBLE, "sh"]
    return [*unshare, str(len(program.readable)), *program.readable, *drop]


def _assembles() -> bool:
    return is_root() and can_unshare()


def _arguments(program: Program, files: dict[str, int], limits: SandboxLimits) -> list[str]:
    """bubblewrap's arguments. Their order counts: it works through them as through a script."""
    words = [f"--unshare-{name}" for name in NAMESPACES if not (program.network and name == "net")]
    words += ["--disable-userns", "--uid", "1000", "--gid", "1000", "--hostname", "sandbox"]
    words += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]
    for name, value in {**_ENVIRONMENT, **program.environment}.items():
        words += ["--setenv", name, value]
    words += system_mounts()
    if program.network:
        words += ["--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf"]
    for path, content in files.items():
        words += ["--file", str(content), path]
    words += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"]
    words += [*tmpfs("/dev/shm", limits.shared_memory), "--remount-ro", "/dev"]  # noqa: S108
    words += tmpfs("/tmp", limits.temporary)  # noqa: S108
    return [*words, *_bound(program), "--remount-ro", "/", "--chdir", HOME]


def _bound(program: Program) -> list[str]:
    """The server's own parts of the file system: its scratch folder, and what it may read."""
    staged = Path("/tmp") if _assembles() else None  # noqa: S108 - see _ASSEMBLE
    words: list[str] = []
    for place, folder in enumerate(program.readable):
        words += ["--ro-bind", str(staged / "readable" / str(place)) if staged else folder, folder]
    return [*words, "--bind", str((staged or program.folder) / SCRATCH), HOME]
