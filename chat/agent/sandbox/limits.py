"""What one command may use."""

from __future__ import annotations

import os
from dataclasses import dataclass

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
