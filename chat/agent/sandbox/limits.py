"""What one command may use."""

from __future__ import annotations

import os
from dataclasses import dataclass

KIB, MIB, GIB = 1024, 1024**2, 1024**3


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

    def prlimit(self, seconds: float) -> list[str]:
        """The kernel's share of the limits, as arguments of prlimit(1).

        Set inside the sandbox: set before it, the count of processes would be that of the user on the whole
        machine.
        """
        cpu = int(seconds * (os.cpu_count() or 1)) + 1
        kept = {
            "cpu": f"{cpu}:{cpu + 1}",
            "data": self.memory,
            "as": self.address_space,
            "nproc": self.processes,
            "nofile": self.open_files,
            "fsize": self.file_size,
            "core": 0,
            "memlock": 64 * KIB,
            "msgqueue": 0,
            "sigpending": 1024,
        }
        return [f"--{name}={value}" for name, value in kept.items()]
