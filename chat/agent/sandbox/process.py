"""A started process: its output read as it comes, its end awaited, and killed with all its kin."""

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

    Behind bubblewrap's preparations, the command begins only while this process holds the other end of its
    input: bubblewrap ties the sandbox's life to this process's at the very end of them, so a server that dies
    earlier, or a kill, must not leave a command behind. `finished` is done when the process is reaped and
    nobody holds its output open any more.
    """

    def __init__(
        self,
        call: Invocation,
        output: Output,
        most_output: int,
        on_output: Callable[[Output], object] | None = None,
    ) -> None:
        self.flooded = False
        self.ready = False
        """Whether the command was started: bubblewrap did its part."""
        self.preparing = b""
        """What was printed before that."""
        self._status = call.status
        self._output, self._most_output = output, most_output
        self._on_output = on_output
        self._loop = asyncio.get_running_loop()
        self.finished: asyncio.Future[None] = self._loop.create_future()
        self._go: int | None
        self._process, self._go, self._pipe = _start(call)
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

    def kill(self) -> None:
        """End everything at once: the process group, and process 1 of the sandbox's process namespace.

        While bubblewrap prepares, that one has left the group but would not yet die with its parent.
        """
        if self.finished.done():
            return
        self._let_go()
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        first = first_process(self._status)
        if first:
            with suppress(ProcessLookupError):
                os.kill(first, signal.SIGKILL)

    def _read(self) -> None:
        data = os.read(self._pipe, _CHUNK)
        if not data:
            self._close(self._pipe)
        elif self.ready:
            self._take(data)
        else:
            self.preparing, found, data = (self.preparing + data).partition(READY)
            self.ready = bool(found)
            if data:
                self._take(data)

    def _take(self, data: bytes) -> None:
        if self.flooded:  # what still comes after the kill is dropped, but read, or the pipe would never end
            return
        self._output.feed(data)
        if self._on_output:
            self._on_output(self._output)
        if self._output.total > self._most_output:
            self.flooded = True
            self.kill()

    def _let_go(self) -> None:
        if self._go is not None:
            os.close(self._go)
            self._go = None

    def _reap(self) -> None:
        if self._process.poll() is not None:
            self._close(self._handle)

    def _close(self, descriptor: int) -> None:
        self._loop.remove_reader(descriptor)
        os.close(descriptor)
        self._open.discard(descriptor)
        if not self._open and not self.finished.done():
            self._let_go()
            self.finished.set_result(None)


def _start(call: Invocation) -> tuple[subprocess.Popen[bytes], int, int]:
    """The process, and this side's ends of its input and its output."""
    waiting, go = os.pipe()
    reading, writing = os.pipe()
    try:
        process = subprocess.Popen(  # noqa: S603
            call.words,
            cwd=call.folder,
            env=ENVIRONMENT,
            stdin=waiting,
            stdout=writing,
            stderr=writing,
            pass_fds=call.descriptors,
            start_new_session=True,
        )
    except OSError as error:
        os.close(go)
        os.close(reading)
        raise SandboxError(f"The command could not be started: {error.strerror}.") from error
    finally:
        os.close(waiting)
        os.close(writing)
    return process, go, reading


def first_process(status: int) -> int | None:
    """Process 1 of the sandbox, by its number out here, once bubblewrap has told it and while it lives."""
    told = os.pread(status, 4096, 0).partition(b"\n")[0]
    if not told:
        return None
    number = int(json.loads(told)["child-pid"])
    try:
        lines = Path(f"/proc/{number}/status").read_text().splitlines()
    except OSError:
        return None
    numbers = next((line.split()[1:] for line in lines if line.startswith("NSpid:")), [])
    return (
        number if len(numbers) > 1 and numbers[-1] == "1" else None
    )  # else another process has the number now


class Output:
    """Keeps the beginning and the end of a stream of bytes: `head` and `tail` bytes of it at most."""

    def __init__(self, head: int, tail: int) -> None:
        self.total = 0
        """Bytes seen."""
        self._most_head, self._most_tail = head, tail
        self._head, self._tail = bytearray(), bytearray()

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self.total += len(data)
        room = max(self._most_head - len(self._head), 0)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._most_tail:
            del self._tail[: -self._most_tail]

    def text(self, most_head: int | None = None, most_tail: int | None = None) -> str:
        """All of it, or its beginning and its end with a line between them that counts what is left out.

        `most_head` and `most_tail` show fewer bytes of either than are kept.
        """
        most_tail = self._most_tail if most_tail is None else most_tail
        head = self._head[:most_head]
        rest = self._head[len(head) :] + self._tail
        tail = bytes(rest[max(len(rest) - most_tail, 0) :])
        left_out = self.total - len(head) - len(tail)
        if left_out <= 0:
            return _clean((head + tail).decode(errors="replace"))
        start = codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(head))
        end = _whole(tail).decode(errors="replace")
        return f"{_clean(start)}\n[... {left_out} bytes left out ...]\n{_clean(end)}"


def _whole(tail: bytes) -> bytes:
    """The bytes without what is left of a character that the cut went through."""
    for place in range(min(3, len(tail))):
        if tail[place] & 0xC0 != 0x80:
            return tail[place:]
    return tail


def _clean(text: str) -> str:
    return text.replace("\0", "\ufffd")  # databases refuse NUL in text
