"""Child processes of the benchmark, and the CPU time and memory of their process trees."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path

PAGE = os.sysconf("SC_PAGE_SIZE")
TICK = os.sysconf("SC_CLK_TCK")


class Child:
    """A process in its own session, which is ended on exit. A context manager."""

    def __init__(self, command: list[str], cwd: Path, log: Path, environment: Mapping[str, str]) -> None:
        self.log = log
        self.log_file = log.open("wb")
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=self.log_file,
            start_new_session=True,
        )
        self.lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.put(line.decode(errors="replace").rstrip("\n"))

    def line(self, start: str, seconds: float = 120.0) -> str:
        """The rest of the next output line that starts with `start`. Raises RuntimeError if none comes."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                line = self.lines.get(timeout=0.1)
            except queue.Empty:
                if self.process.poll() is not None:
                    break
                continue
            if line.startswith(start):
                return line.removeprefix(start)
        raise RuntimeError(f"{self.process.args!r} did not write {start!r}:\n{self.log.read_text()[-4000:]}")

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log_file.close()

    @property
    def cpu(self) -> float:
        return cpu_of(self.process.pid)

    @property
    def rss(self) -> int:
        return sum(_rss(pid) for pid in _tree(self.process.pid))


def cpu_of(root: int) -> float:
    return sum(_cpu(pid) for pid in _tree(root))


def _tree(root: int) -> list[int]:
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        if fields := _stat(int(folder.name)):
            parents[int(folder.name)] = int(fields[1])
    pids = [root]
    for pid in pids:
        pids += [child for child, parent in parents.items() if parent == pid]
    return pids


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _cpu(pid: int) -> float:
    """The process's own CPU clock, in nanoseconds resolution, plus that of its ended children."""
    fields = _stat(pid)
    if not fields:
        return 0.0
    try:
        own = time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0
    return own + (int(fields[13]) + int(fields[14])) / TICK


def _rss(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[21]) * PAGE if fields else 0
