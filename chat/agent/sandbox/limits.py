"""Limits of one command, and measuring what it uses."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from chat.agent.safe_open import open_beneath

KIB, MIB, GIB = 1024, 1024**2, 1024**3
_LOCKED = 64 * KIB
_SIGNALS = 1024


@dataclass(frozen=True)
class SandboxLimits:
    # Times in seconds, sizes in bytes.
    seconds: float = 120
    """Default timeout."""
    max_seconds: float = 600
    """Longest timeout that a command may request."""
    memory: int = 2 * GIB
    """Of all processes together (checked twice a second), and of each one's data (enforced by the kernel)."""
    address_space: int = 8 * GIB
    processes: int = 128
    open_files: int = 512
    file_size: int = 256 * MIB
    output_head: int = 24 * KIB
    output_tail: int = 24 * KIB
    output_total: int = 64 * MIB
    """A command that prints more is killed."""
    temporary: int = 64 * MIB
    shared_memory: int = 16 * MIB
    workspace_bytes: int = 500 * MIB
    workspace_files: int = 100_000

    # Kernel limits are set inside the sandbox: set outside, the process limit would count all processes of
    # the user on the machine.

    def ulimit(self, seconds: float) -> str:
        cpu = self._cpu_seconds(seconds)
        limits = {
            "d": self.memory // KIB,
            "v": self.address_space // KIB,
            "u": self.processes,
            "n": self.open_files,
            "f": self.file_size // KIB,
            "c": 0,
            "l": _LOCKED // KIB,
            "q": 0,
            "i": _SIGNALS,
        }
        both = " ".join(f"-{letter} {value}" for letter, value in limits.items())
        return f"ulimit -S -t {cpu} && ulimit -H -t {cpu + 1} && ulimit {both}"

    def prlimit(self, seconds: float) -> list[str]:
        cpu = self._cpu_seconds(seconds)
        limits = {
            "cpu": f"{cpu}:{cpu + 1}",
            "data": self.memory,
            "as": self.address_space,
            "nproc": self.processes,
            "nofile": self.open_files,
            "fsize": self.file_size,
            "core": 0,
            "memlock": _LOCKED,
            "msgqueue": 0,
            "sigpending": _SIGNALS,
        }
        return [f"--{name}={value}" for name, value in limits.items()]

    def _cpu_seconds(self, seconds: float) -> int:
        return int(seconds * (os.cpu_count() or 1)) + 1


_LONGEST_PATH = 3500  # characters; the system's limit is 4096
_UNCOUNTABLE = 10**9
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class DiskUsage:
    size: int
    files: int

    def less_than(self, other: DiskUsage) -> bool:
        """Whether something was deleted and nothing grew."""
        return (self.size, self.files) != (other.size, other.files) and (
            self.size <= other.size and self.files <= other.files
        )


def memory_over(pid: int, limit: int) -> bool:
    """Whether a process and all its descendants use more than `limit` bytes of memory.

    PSS, which counts shared memory once, is slow to get, so it is read only if the RSS exceeds the limit.
    """
    pids = list(_process_tree(pid))
    return sum(map(_rss, pids)) > limit and sum(map(_pss, pids)) > limit


def _process_tree(pid: int) -> Iterator[int]:
    pending = [pid]
    while pending:
        one = pending.pop()
        yield one
        try:
            for task in os.listdir(f"/proc/{one}/task"):
                pending += map(int, Path(f"/proc/{one}/task/{task}/children").read_text().split())
        except OSError:
            continue


def _rss(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def _pss(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return _rss(pid)
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def disk_usage(folder: int) -> DiskUsage:
    """The usage of a folder (a descriptor), following no links; too deeply nested ones exceed any limit."""
    size = files = 0
    pending = ["."]
    while pending:
        path = pending.pop()
        for name, status in _entries(folder, path):
            files += 1
            size += status.st_blocks * 512
            if stat.S_ISDIR(status.st_mode):
                files += _UNCOUNTABLE if len(path) > _LONGEST_PATH else 0
                pending.append(f"{path}/{name}")
    return DiskUsage(size, files)


def _entries(folder: int, path: str) -> list[tuple[str, os.stat_result]]:
    try:
        descriptor = open_beneath(folder, path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return []  # removed concurrently, or not readable
    try:
        with os.scandir(descriptor) as entries:
            return list(_present(entries))
    finally:
        os.close(descriptor)


def _present(entries: Iterator[os.DirEntry[str]]) -> Iterator[tuple[str, os.stat_result]]:
    for entry in entries:
        try:
            yield entry.name, entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
