"""A started process: its output read as it comes, its end awaited, and killed with all its kin."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from contextlib import suppress

from chat.agent.sandbox.bubblewrap import Invocation
from chat.agent.sandbox.diagnosis import SandboxError
from chat.agent.sandbox.launch import ENVIRONMENT
from chat.agent.sandbox.output import Output

_CHUNK = 64 * 1024


class Process:
    """Started on creation, on the event loop's own thread: bubblewrap dies with the *thread* that started it.

    `finished` is done when the process is reaped and nobody holds its output open any more.
    """

    def __init__(self, call: Invocation, output: Output, most_output: int) -> None:
        self.flooded = False
        self._output, self._most_output = output, most_output
        self._loop = asyncio.get_running_loop()
        self.finished: asyncio.Future[None] = self._loop.create_future()
        self._pipe, writing = os.pipe()
        try:
            self._process = _start(call, writing)
        except OSError as error:
            os.close(self._pipe)
            raise SandboxError(f"The command could not be started: {error.strerror}.") from error
        finally:
            os.close(writing)
        self._handle = os.pidfd_open(self._process.pid)
        self._open = {self._pipe, self._handle}
        self._loop.add_reader(self._pipe, self._read)
        self._loop.add_reader(self._handle, self._reap)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int:
        """As a shell counts: 128 and more for a signal."""
        code = int(self._process.returncode)
        return code if code >= 0 else 128 - code

    @property
    def was_killed(self) -> bool:
        """Whether the outermost process itself was ended by a signal."""
        return bool(self._process.returncode < 0)

    def kill(self) -> None:
        """End the process group at once; the sandbox's process namespace dies with it, and all in there."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _read(self) -> None:
        data = os.read(self._pipe, _CHUNK)
        if not data:
            self._close(self._pipe)
        elif (
            not self.flooded
        ):  # what still comes after the kill is read and dropped, or the pipe would never end
            self._output.feed(data)
            if self._output.total > self._most_output:
                self.flooded = True
                self.kill()

    def _reap(self) -> None:
        if self._process.poll() is not None:
            self._close(self._handle)

    def _close(self, descriptor: int) -> None:
        self._loop.remove_reader(descriptor)
        os.close(descriptor)
        self._open.discard(descriptor)
        if not self._open and not self.finished.done():
            self.finished.set_result(None)


def _start(call: Invocation, output: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603
        call.words,
        cwd=call.folder,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        pass_fds=call.descriptors,
        start_new_session=True,
    )
