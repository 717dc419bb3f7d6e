"""File ownership when the server runs as root.

Commands never run as root, so a workspace belongs to an ordinary user. The file tools act as that user, too:
files written by a tool can be changed by a command and vice versa.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

SANDBOX_UID = 48000
"""The user and group id that commands run as when the server runs as root; used by nothing else."""

_libc = ctypes.CDLL(None, use_errno=True)


def is_root() -> bool:
    return os.geteuid() == 0


@contextmanager
def acting_as(owner: os.stat_result) -> Iterator[None]:
    """Access files as `owner`; no effect unless the server is root.

    The block must not await: setfsuid and setfsgid apply to the thread, not to the task.
    """
    if not is_root() or owner.st_uid == 0:
        yield
        return
    group = _libc.setfsgid(group_of(owner))
    user = _libc.setfsuid(owner.st_uid)
    try:
        yield
    finally:
        _libc.setfsuid(user)
        _libc.setfsgid(group)


def group_of(owner: os.stat_result) -> int:
    return owner.st_gid or owner.st_uid


def give_to_sandbox_user(folder: int) -> None:
    """Give a folder that root owns (a descriptor), with its content, to the sandbox's user.

    In a container with a single user root may not; the folder stays root's and the sandbox reports it.
    """
    if not is_root() or os.fstat(folder).st_uid != 0:
        return
    with suppress(OSError):
        for _path, folders, files, descriptor in os.fwalk(".", dir_fd=folder, follow_symlinks=False):
            for name in folders + files:
                os.chown(name, SANDBOX_UID, SANDBOX_UID, dir_fd=descriptor, follow_symlinks=False)
        os.fchown(folder, SANDBOX_UID, SANDBOX_UID)
