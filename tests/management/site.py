"""The project's commands as processes on the test's database."""

from __future__ import annotations

import fcntl
import os
import pty
import shlex
import signal
import subprocess
import sys
import termios
import threading
from pathlib import Path

from django.db import connection

from tests.serving import until

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 90.0  # seconds that anything may take on a busy machine
# How a process that waits in select() for its input is known: by the call's number, and one past its file's.
SELECT_CALLS = ("23", "270", "72")  # select and pselect6 of x86-64, pselect6 of ARM64
WAITING_FOR_INPUT = [[call, "0x1"] for call in SELECT_CALLS]


class Site:
    """Settings for `manage.py`, as environment variables; `settings` may be changed between commands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings = {
            "DATA_DIR": str(folder),
            "DATABASE_URL": f"sqlite:///{connection.settings_dict['NAME']}",
            "PORT": "8123",
            "DEMO_PACE": "0",
            "TERM": "xterm",
        }
        self.processes: list[Process] = []

    def run(self, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command to its end, with `given` as its input."""
        return subprocess.run(
            self._command(words),
            input=given,
            env=self._environment(),
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=PATIENCE * 2,
        )

    def piped(self, reader: str, *words: str) -> subprocess.CompletedProcess[str]:
        """A command to its end whose output a shell's `reader` reads."""
        line = f"{shlex.join(self._command(words))} | {reader}"
        return subprocess.run(
            ["/bin/sh", "-c", line],
            env=self._environment(),
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=PATIENCE * 2,
        )

    def start(self, *words: str, terminal: bool = False) -> Process:
        """A command that goes on by itself; in a `terminal` of its own, or with pipes."""
        self.processes.append(Process(self._command(words), self._environment(), terminal))
        return self.processes[-1]

    def close(self) -> None:
        for process in self.processes:
            process.close()

    def _command(self, words: tuple[str, ...]) -> list[str]:
        return [sys.executable, "manage.py", *words]

    def _environment(self) -> dict[str, str]:
        return {**os.environ, **self.settings}


class Process:
    """A running command, with its output so far and its input."""

    def __init__(self, command: list[str], environment: dict[str, str], terminal: bool) -> None:
        self.written = ""
        ours, theirs = pty.openpty() if terminal else (None, subprocess.PIPE)
        self.popen = subprocess.Popen(
            command,
            env=environment,
            cwd=ROOT,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs if terminal else subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_take_terminal if terminal else None,
        )
        if ours is not None:
            os.close(theirs)
        self.out = ours if ours is not None else self.popen.stdout.fileno()  # type: ignore[union-attr]
        self.into = ours if ours is not None else self.popen.stdin.fileno()  # type: ignore[union-attr]
        self.reading = threading.Thread(target=self._read, daemon=True)
        self.reading.start()

    def _read(self) -> None:
        while True:
            try:
                piece = os.read(self.out, 65536)
            except OSError:  # a terminal whose last user has gone
                return
            if not piece:
                return
            self.written += piece.decode(errors="replace")

    def type(self, text: str) -> None:
        """Write to its input."""
        os.write(self.into, text.encode())

    def leave(self) -> None:
        """End its input."""
        self.popen.stdin.close()  # type: ignore[union-attr]

    def wait_for(self, text: str, times: int = 1) -> None:
        """Return once it has written `text` so often."""
        until(lambda: self.written.count(text) >= times, lambda: f"no {text!r} in {self.written!r}")

    def wait_for_prompt(self, times: int = 1) -> None:
        """Return once it has prompted and reads: readline prompts first, and may lose what comes then."""
        self.wait_for("> ", times)
        call = Path(f"/proc/{self.popen.pid}/syscall")
        until(lambda: call.read_text().split()[:2] in WAITING_FOR_INPUT)

    def signal(self, number: signal.Signals) -> None:
        self.popen.send_signal(number)

    def ended(self) -> int:
        """Its exit code, once it has ended and all that it wrote is read."""
        code = self.popen.wait(PATIENCE)
        self.reading.join(PATIENCE)
        return code

    def close(self) -> None:
        if self.popen.poll() is None:
            self.popen.kill()
            self.popen.wait()


def _take_terminal() -> None:
    """Become the terminal's foreground process, which a shell in the background starts without Ctrl-C."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
