"""What one command may use."""

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
    """Bounds of one command. Times in seconds, sizes in bytes."""

    seconds: float = 120
    """How long a command may take when it does not say."""
    most_seconds: float = 600
    """How long it may ask for."""
    memory: int = 2 * GIB
    """Of all its processes together (looked at twice a second), and data memory of each (by the kernel)."""
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

    # The kernel's share of the limits is set inside the sandbox: set before it, the count of processes would
    # be that of the user on the whole machine.

    def ulimit(self, seconds: float) -> str:
        """The kernel's share of the limits, as commands of bash."""
        cpu = self._processor(seconds)
        kept = {
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
        both = " ".join(f"-{letter} {value}" for letter, value in kept.items())
        return f"ulimit -S -t {cpu} && ulimit -H -t {cpu + 1} && ulimit {both}"

    def prlimit(self, seconds: float) -> list[str]:
        """The same as arguments of prlimit(1)."""
        cpu = self._processor(seconds)
        kept = {
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
        return [f"--{name}={value}" for name, value in kept.items()]

    def _processor(self, seconds: float) -> int:
        """Seconds of processor time: as many as all processors have meanwhile."""
        return int(seconds * (os.cpu_count() or 1)) + 1


_DEEPEST = 3500  # characters of a path; 4096 are the system's limit
_ENDLESS = 10**9
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Usage:
    """What a folder holds: bytes on disk, and how many files and folders."""

    size: int
    files: int

    def less_than(self, other: Usage) -> bool:
        """Whether something was deleted and nothing grew."""
        return (self.size, self.files) != (other.size, other.files) and (
            self.size <= other.size and self.files <= other.files
        )


def memory_over(pid: int, most: int) -> bool:
    """Whether a process and all its descendants hold more than `most` bytes of memory.

    The exact count, in which what processes share counts once, is slow; it is taken only when the quick one,
    in which it counts for each, is over.
    """
    family = list(_family(pid))
    return sum(map(_resident, family)) > most and sum(map(_share, family)) > most


def _family(pid: int) -> Iterator[int]:
    """The process and its descendants; they may come and go meanwhile."""
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        yield one
        try:
            for task in os.listdir(f"/proc/{one}/task"):
                waiting += map(int, Path(f"/proc/{one}/task/{task}/children").read_text().split())
        except OSError:
            continue


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def _share(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return _resident(pid)
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def usage(folder: int) -> Usage:
    """What is in the folder behind a descriptor; symbolic links are not followed.

    Folders nested deeper than the system takes in a path cannot be counted, and count as no end of files.
    """
    size = files = 0
    waiting = ["."]
    while waiting:
        path = waiting.pop()
        for name, status in _entries(folder, path):
            files += 1
            size += status.st_blocks * 512
            if stat.S_ISDIR(status.st_mode):
                files += _ENDLESS if len(path) > _DEEPEST else 0
                waiting.append(f"{path}/{name}")
    return Usage(size, files)


def _entries(folder: int, path: str) -> list[tuple[str, os.stat_result]]:
    try:
        opened = open_beneath(folder, path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return []  # gone meanwhile, or not to be entered
    try:
        with os.scandir(opened) as entries:
            return list(_present(entries))
    finally:
        os.close(opened)


def _present(entries: Iterator[os.DirEntry[str]]) -> Iterator[tuple[str, os.stat_result]]:
    for entry in entries:
        try:
            yield entry.name, entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
