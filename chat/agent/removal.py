"""Removing a folder that somebody else has filled: as deep as they like, with links and locked folders."""

from __future__ import annotations

import os
import secrets
import time
from contextlib import suppress
from pathlib import Path

_PATIENCE = 120.0  # seconds; something may still be writing into it
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LOOK = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_folder(path: Path) -> bool:
    """Remove the folder with all that is in it, and say whether it is gone.

    A symbolic link is removed, never followed. No path is ever built and no folder is descended into: what
    is in a folder is lifted to the top before the folder goes, so no depth is too deep.
    """
    try:
        top = os.open(path, _OPEN)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        with suppress(OSError):
            os.fchmod(top, 0o700)
        _clear(top, time.monotonic() + _PATIENCE)
    finally:
        os.close(top)
    with suppress(OSError):
        os.rmdir(path)
    return not os.path.lexists(path)


def _clear(top: int, deadline: float) -> None:
    while time.monotonic() < deadline:
        gone = [_remove(top, name) for name in os.listdir(top)]
        if not any(gone):
            return


def _remove(top: int, name: str) -> bool:
    """Remove what is called so at the top, or a folder's shell once it was emptied; whether it went."""
    try:
        if _unlinked(top, name):
            return True
        _unlock(top, name)
        folder = os.open(name, _OPEN, dir_fd=top)
    except OSError:
        return False
    try:
        for inner in os.listdir(folder):
            _lift(folder, inner, top)
    finally:
        os.close(folder)
    with suppress(OSError):
        os.rmdir(name, dir_fd=top)
        return True
    return False


def _unlinked(folder: int, name: str) -> bool:
    """Remove anything but a folder; whether it was that."""
    try:
        os.unlink(name, dir_fd=folder)
    except IsADirectoryError:
        return False
    return True


def _lift(folder: int, name: str, top: int) -> None:
    with suppress(OSError):
        if not _unlinked(folder, name):
            _unlock(folder, name)  # to move a folder one must be able to write to it
            os.rename(name, f".{secrets.token_hex(12)}", src_dir_fd=folder, dst_dir_fd=top)


def _unlock(parent: int, name: str) -> None:
    """Let ourselves into a folder whose owner has locked it."""
    looked_at = os.open(name, _LOOK, dir_fd=parent)
    try:
        with suppress(OSError):
            os.chmod(f"/proc/self/fd/{looked_at}", 0o700)  # what was looked at, and no link in its place
    finally:
        os.close(looked_at)
