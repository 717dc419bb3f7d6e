"""The limit of open files, which includes sockets."""

from __future__ import annotations

import resource

MAX_OPEN_FILES = 65536


def allow_open_files() -> None:
    """Raise this process's limit as far as allowed: the usual 1,024 is too low for its tabs and turns."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(MAX_OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
