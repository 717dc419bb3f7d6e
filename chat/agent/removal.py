"""Removes folders with untrusted content: any depth, symbolic links, locked folders."""

from __future__ import annotations

import os
import secrets
import time
from contextlib import suppress
from pathlib import Path

_TIMEOUT = 120.0  # seconds; something may still be writing into it
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PATH_ONLY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_folder(path: Path) -> bool:
    """Remove the folder with its content; returns whether it is gone.

    A symbolic link is removed, never followed. Content of subfolders is moved to the top level instead of
    descending into it, so no depth is too deep and no path is ever built.
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
        _clear(top, time.monotonic() + _TIMEOUT)
    finally:
        os.close(top)
    with suppress(OSError):
        os.rmdir(path)
    return not os.path.lexists(path)


def _clear(top: int, deadline: float) -> None:
    while time.monotonic() < deadline:
        removed = [_remove(top, name) for name in os.listdir(top)]
        if not any(removed):
            return


def _remove(top: int, name: str) -> bool:
    try:
        if _unlink(top, name):
            return True
        _unlock(top, name)
        folder = os.open(name, _OPEN, dir_fd=top)
    except OSError:
        return False
    try:
        for inner in os.listdir(folder):
            _move_to_top(folder, inner, top)
    finally:
        os.close(folder)
    with suppress(OSError):
        os.rmdir(name, dir_fd=top)
        return True
    return False


def _unlink(folder: int, name: str) -> bool:
    try:
        os.unlink(name, dir_fd=folder)
    except IsADirectoryError:
        return False
    return True


def _move_to_top(folder: int, name: str, top: int) -> None:
    with suppress(OSError):
        if not _unlink(folder, name):
            _unlock(folder, name)  # moving a folder requires write permission on it
            os.rename(name, f".{secrets.token_hex(12)}", src_dir_fd=folder, dst_dir_fd=top)


def _unlock(parent: int, name: str) -> None:
    descriptor = os.open(name, _PATH_ONLY, dir_fd=parent)
    try:
        with suppress(OSError):
            os.chmod(f"/proc/self/fd/{descriptor}", 0o700)  # by descriptor: a swapped-in link is not followed
    finally:
        os.close(descriptor)
