"""Opening files beneath a folder so that nothing in a path can lead out of it.

The kernel resolves the path (`openat2` with RESOLVE_BENEATH), because a check of the name followed by an
open is a race that a symbolic link wins. Where the kernel lacks the call, a walk with directory descriptors
does it, and that follows no symbolic links at all.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
from contextlib import suppress

_OPENAT2 = 437  # the same number on every architecture
_NO_MAGICLINKS = 0x02
_BENEATH = 0x08
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_libc = ctypes.CDLL(None, use_errno=True)


class _OpenHow(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]


def open_beneath(folder: int, path: str, flags: int) -> int:
    """Open the relative `path` beneath the descriptor `folder`; raises OSError (EXDEV if it leads out)."""
    if has_openat2():
        return _kernel_open(folder, path, flags)
    return walk_open(folder, path, flags)


@functools.cache
def has_openat2() -> bool:
    """Whether this kernel (and what confines this process) offers `openat2`."""
    root = os.open("/", _FOLDER)
    try:
        os.close(_kernel_open(root, ".", os.O_PATH))
    except OSError:
        return False
    finally:
        os.close(root)
    return True


def _kernel_open(folder: int, path: str, flags: int) -> int:
    how = _OpenHow(flags | os.O_CLOEXEC, 0, _BENEATH | _NO_MAGICLINKS)
    while True:
        found = _libc.syscall(
            ctypes.c_long(_OPENAT2),
            ctypes.c_int(folder),
            ctypes.c_char_p(os.fsencode(path)),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if found >= 0:
            return int(found)
        code = ctypes.get_errno()
        # EAGAIN: something was renamed meanwhile, and the kernel could not tell whether the path stayed
        # beneath.
        if code not in (errno.EAGAIN, errno.EINTR):
            raise OSError(code, os.strerror(code), path)


def walk_open(folder: int, path: str, flags: int) -> int:
    """`open_beneath` one name at a time; a symbolic link anywhere is refused (ELOOP or ENOTDIR)."""
    *parents, name = _names(path) or ["."]
    parent = open_folder(folder, "/".join(parents))
    try:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    finally:
        os.close(parent)


def open_folder(folder: int, path: str, make: bool = False) -> int:
    """A descriptor of the folder `path` beneath `folder`, no symbolic links followed; `make` creates it."""
    current = os.dup(folder)
    for name in _names(path):
        try:
            inner = _enter(current, name, make)
        finally:
            os.close(current)
        current = inner
    return current


def _enter(folder: int, name: str, make: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            raise
    with suppress(FileExistsError):  # someone else made it first
        os.mkdir(name, dir_fd=folder)
    return os.open(name, _FOLDER, dir_fd=folder)


def _names(path: str) -> list[str]:
    names = [name for name in path.split("/") if name not in ("", ".")]
    if ".." in names:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
    return names
