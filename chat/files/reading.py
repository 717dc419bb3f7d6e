"""Reading a file of a workspace in pieces, whatever its size."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from chat.agent.beneath import open_beneath
from chat.agent.workspace import Workspace, relative, sentences

PIECE = 64 * 1024
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY


@contextmanager
def opened(workspace: Workspace, path: str) -> Iterator[int]:
    """A descriptor of the regular file at `path`; raises WorkspaceError with a sentence for anything else."""
    found = open_file(workspace, path)
    try:
        yield found
    finally:
        os.close(found)


def open_file(workspace: Workspace, path: str) -> int:
    """What `opened` gives, for the caller to close."""
    name = relative(path)
    with sentences(path), workspace.as_owner() as root:
        found = open_beneath(root, name, _READ)
        try:
            _check(found)
        except OSError:
            os.close(found)
            raise
        return found


def _check(found: int) -> None:
    mode = os.fstat(found).st_mode
    if not stat.S_ISREG(mode):
        code = errno.EISDIR if stat.S_ISDIR(mode) else errno.ENXIO
        raise OSError(code, os.strerror(code))


def beginning(workspace: Workspace, path: str, most: int) -> tuple[bytes, int]:
    """The first `most` bytes of the file, and its size."""
    with opened(workspace, path) as found:
        return os.pread(found, most, 0), os.fstat(found).st_size
