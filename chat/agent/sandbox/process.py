"""A running sandbox process: reads its output, waits for its end, kills it with all its descendants."""

from __future__ import annotations

import asyncio
import codecs
import json
import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from chat.agent.sandbox.bubblewrap import ENVIRONMENT, READY, Invocation, SandboxError

_CHUNK = 64 * 1024


class Process:
    """Started on creation, on the loop's thread: bubblewrap dies with the *thread* that starts it.

    The command only starts while this process holds the other end of its input: bubblewrap ties the sandbox's
    life to this process's at the very end of its setup, and a server that dies earlier, or a kill, must not
    leave a command behind. `finished` is done when the process is reaped and its output closed.
    """

    def __init__(
        self,
        call: Invocation,
        output: Output,
        max_output: int,
        on_output: Callable[[Output], object] | None = None,
    ) -> None:
        self.flooded = False
        self.ready = False
        """Whether bubblewrap has started the command."""
        self.setup_output = b""
        """What was printed before that."""
        self._status = call.status
        self._output, self._max_output = output, max_output
        self._on_output = on_output
        self._loop = asyncio.get_running_loop()
        self.finished: asyncio.Future[None] = self._loop.create_future()
        self._gate: int | None
        self._process, self._gate, self._pipe = _start(call)
        self._pidfd = os.pidfd_open(self._process.pid)
        self._open = {self._pipe, self._pidfd}
        self._loop.add_reader(self._pipe, self._read)
        self._loop.add_reader(self._pidfd, self._reap)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int:
        return exit_code(self._process.returncode)

    def kill(self) -> None:
        if self.finished.done():
            return
        self._close_gate()
        kill_sandbox(self._process.pid if self._process.returncode is None else None, self._status)

    def _read(self) -> None:
        data = os.read(self._pipe, _CHUNK)
        if not data:
            self._close(self._pipe)
        elif self.ready:
            self._feed(data)
        else:
            self.setup_output, separator, data = (self.setup_output + data).partition(READY)
            self.ready = bool(separator)
            if data:
                self._feed(data)

    def _feed(self, data: bytes) -> None:
        if self.flooded:  # output after the kill is dropped, but read, or the pipe would never end
            return
        self._output.feed(data)
        if self._on_output:
            self._on_output(self._output)
        if self._output.total > self._max_output:
            self.flooded = True
            self.kill()

    def _close_gate(self) -> None:
        if self._gate is not None:
            os.close(self._gate)
            self._gate = None

    def _reap(self) -> None:
        if self._process.poll() is not None:
            self._close(self._pidfd)

    def _close(self, descriptor: int) -> None:
        self._loop.remove_reader(descriptor)
        os.close(descriptor)
        self._open.discard(descriptor)
        if not self._open and not self.finished.done():
            self._close_gate()
            self.finished.set_result(None)


def _start(call: Invocation) -> tuple[subprocess.Popen[bytes], int, int]:
    waiting, gate = os.pipe()
    reading, writing = os.pipe()
    try:
        process = subprocess.Popen(  # noqa: S603
            call.argv,
            cwd=call.folder,
            env=ENVIRONMENT,
            stdin=waiting,
            stdout=writing,
            stderr=writing,
            pass_fds=call.descriptors,
            start_new_session=True,
        )
    except OSError as error:
        os.close(gate)
        os.close(reading)
        raise SandboxError(f"The command could not be started: {error.strerror}.") from error
    finally:
        os.close(waiting)
        os.close(writing)
    return process, gate, reading


def kill_sandbox(group: int | None, status: int) -> None:
    """Kill a sandbox's process group, and process 1 of its PID namespace.

    During bubblewrap's setup that process has left the group but would not yet die with its parent.
    """
    first = _first_process(status)
    for kill, pid in ((os.killpg, group), (os.kill, first)):
        if pid:
            with suppress(ProcessLookupError):
                kill(pid, signal.SIGKILL)


def exit_code(code: int) -> int:
    """The exit code as shells report it: 128 and more for a signal."""
    return code if code >= 0 else 128 - code


def _first_process(status: int) -> int | None:
    """The PID, as seen from here, of process 1 in the sandbox; None before it is known or after its end."""
    line = os.pread(status, 4096, 0).partition(b"\n")[0]
    if not line:
        return None
    pid = int(json.loads(line)["child-pid"])
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    pids = next((line.split()[1:] for line in lines if line.startswith("NSpid:")), [])
    return pid if len(pids) > 1 and pids[-1] == "1" else None  # else the PID was reused


class Output:
    """Keeps the first `head` and the last `tail` bytes of a stream."""

    def __init__(self, head: int, tail: int) -> None:
        self.total = 0
        """Bytes seen."""
        self._max_head, self._max_tail = head, tail
        self._head, self._tail = bytearray(), bytearray()

    def feed(self, data: bytes) -> None:
        self.total += len(data)
        room = max(self._max_head - len(self._head), 0)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._max_tail:
            del self._tail[: -self._max_tail]

    def text(self, max_head: int | None = None, max_tail: int | None = None) -> str:
        """The output; if it is too long, its beginning and end, with the number of omitted bytes between."""
        max_tail = self._max_tail if max_tail is None else max_tail
        head = self._head[:max_head]
        rest = self._head[len(head) :] + self._tail
        tail = bytes(rest[max(len(rest) - max_tail, 0) :])
        left_out = self.total - len(head) - len(tail)
        if left_out <= 0:
            return _clean((head + tail).decode(errors="replace"))
        start = codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(head))
        end = _from_character(tail).decode(errors="replace")
        return f"{_clean(start)}\n[... {left_out} bytes left out ...]\n{_clean(end)}"


def _from_character(tail: bytes) -> bytes:
    for index in range(min(3, len(tail))):
        if tail[index] & 0xC0 != 0x80:
            return tail[index:]
    return tail


def _clean(text: str) -> str:
    return text.replace("\0", "\ufffd")  # databases refuse NUL in text
