"""Workers' names, which tell on their own machine whether the process behind one still lives."""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path


def new_name() -> str:
    """A name for a worker in this process: host, process id, the process's start, and a part of chance."""
    pid = os.getpid()
    return f"{socket.gethostname()[:60]}:{pid}:{_started(pid)}:{secrets.token_hex(4)}"


def is_gone(name: str) -> bool:
    """Whether the worker was a process of this machine that has ended; False where that cannot be known."""
    parts = name.rsplit(":", 3)
    if len(parts) != 4 or parts[0] != socket.gethostname()[:60] or not parts[1].isdecimal() or not parts[2]:
        return False
    return _started(int(parts[1])) != parts[2]


def _started(pid: int) -> str:
    """When the process began, in clock ticks since the machine did; empty where there is no such process.

    A process id may be given again; its start may not.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    # The second field is the program's name in brackets, which may hold blanks; the start is the 22nd.
    return stat.rpartition(")")[2].split()[19]
