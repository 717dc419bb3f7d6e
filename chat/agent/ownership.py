"""Whom a workspace's files belong to when the server itself runs as root.

Commands never run as root, so a workspace belongs to an ordinary user, and the file tools act as that user
too: what one of them writes, the other can change.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

SANDBOX_UID = 48000
"""The user (and group) that commands run as when the server runs as root: a number that nothing else uses."""

_libc = ctypes.CDLL(None, use_errno=True)


def is_root() -> bool:
    """Whether this process runs as root."""
    return os.geteuid() == 0


@contextmanager
def acting_as(owner: os.stat_result) -> Iterator[None]:
    """Reach files as the user who owns something; without effect unless the server is root.

    The block must not await: the change belongs to the thread (setfsuid, setfsgid), not to the task.
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
    """The group to act in as the owner of something: its own, but never root's."""
    return owner.st_gid or owner.st_uid


def hand_over(folder: int) -> None:
    """Give root's folder behind a descriptor, and all that is in it, to the sandbox's user.

    Where root may not (in a container with a single user) the folder stays root's, and the sandbox says so.
    """
    if not is_root() or os.fstat(folder).st_uid != 0:
        return
    with suppress(OSError):
        for _path, folders, files, inside in os.fwalk(".", dir_fd=folder, follow_symlinks=False):
            for name in folders + files:
                os.chown(name, SANDBOX_UID, SANDBOX_UID, dir_fd=inside, follow_symlinks=False)
        os.fchown(folder, SANDBOX_UID, SANDBOX_UID)
