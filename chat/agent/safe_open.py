"""Opens files beneath a folder; no path can lead out of it.

The kernel resolves the path (`openat2` with RESOLVE_BENEATH), because checking the name and then opening it
is a race that a symbolic link can win. If the kernel lacks the call, the path is walked with directory
descriptors, following no symbolic links at all.
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
    """Whether the kernel, and the sandbox this process may run in, allow `openat2`."""
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
        descriptor = _libc.syscall(
            ctypes.c_long(_OPENAT2),
            ctypes.c_int(folder),
            ctypes.c_char_p(os.fsencode(path)),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if descriptor >= 0:
            return int(descriptor)
        code = ctypes.get_errno()
        # EAGAIN: a concurrent rename kept the kernel from deciding whether the path stays beneath.
        if code not in (errno.EAGAIN, errno.EINTR):
            raise OSError(code, os.strerror(code), path)


def walk_open(folder: int, path: str, flags: int) -> int:
    """`open_beneath` one path component at a time; refuses any symbolic link (ELOOP or ENOTDIR)."""
    *parents, name = _names(path) or ["."]
    parent = open_folder(folder, "/".join(parents))
    try:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    finally:
        os.close(parent)


def open_folder(folder: int, path: str, make: bool = False) -> int:
    """A descriptor of the folder `path` beneath `folder`, following no symbolic links; `make` creates it."""
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
    with suppress(FileExistsError):  # created concurrently
        os.mkdir(name, dir_fd=folder)
    return os.open(name, _FOLDER, dir_fd=folder)


def _names(path: str) -> list[str]:
    names = [name for name in path.split("/") if name not in ("", ".")]
    if ".." in names:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
    return names
