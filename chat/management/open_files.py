"""How many files, sockets among them, a process of the site may have open."""

from __future__ import annotations

import resource

ENOUGH = 65536


def allow_open_files() -> None:
    """Raise this process's limit as far as it may: the usual 1,024 are fewer than its tabs and turns need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(ENOUGH, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
