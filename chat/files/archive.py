"""A workspace as one zip file, made while it is being sent."""

from __future__ import annotations

import errno
import os
import stat
import time
import zipfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager

from chat.agent.safe_open import open_beneath
from chat.agent.scan import CROWDED, Entry, is_utf8, scan_workspace
from chat.agent.workspace import Workspace, WorkspaceError, readable_errors, relative

MOST_BYTES = 2 * 1024**3  # of content
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # a zip file knows no earlier time
NOTE = "LEFT-OUT.txt"


class _Outlet:
    """A file that can only be written to; what was written is taken from it piece by piece."""

    def __init__(self) -> None:
        self.written = bytearray()

    def write(self, data: bytes) -> int:
        self.written += data
        return len(data)

    def flush(self) -> None:
        pass

    def take(self) -> bytes:
        taken = bytes(self.written)
        self.written.clear()
        return taken


def archive(workspace: Workspace) -> Generator[bytes, None, None]:
    """The pieces of the zip file. Links, devices and what is beyond the bounds are left out, and named in it.

    Each piece may be asked for on another thread. Raises WorkspaceError before the first.
    """
    found = scan_workspace(workspace)
    outlet = _Outlet()
    left_out = [] if found.whole else ["(more files than are looked at)"]
    room = MOST_BYTES
    with zipfile.ZipFile(outlet, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as target:  # type: ignore[call-overload]
        for entry in found.entries:
            if entry.kind == "folder" and entry.name in CROWDED:
                left_out.append(f"{entry.path}/")
            elif entry.kind == "folder":
                target.writestr(_described(entry), b"")
            elif entry.kind != "file" or entry.size > room or not is_utf8(entry.path):
                left_out.append(entry.path)
            else:
                try:
                    room -= yield from _file(target, outlet, workspace, entry)
                except WorkspaceError as error:
                    left_out.append(f"{entry.path}: {error}")
        if left_out:
            target.writestr(NOTE, os.fsencode("\n".join(left_out) + "\n").decode(errors="replace"))
    yield outlet.take()


def _file(
    target: zipfile.ZipFile, outlet: _Outlet, workspace: Workspace, entry: Entry
) -> Generator[bytes, None, int]:
    """Write one file, as much of it as there was when it was listed."""
    opened = open_file(workspace, entry.path)
    left = entry.size
    try:
        with target.open(_described(entry), "w") as part:
            while left and (piece := os.read(opened, min(PIECE, left))):
                left -= len(piece)
                part.write(piece)
                if len(outlet.written) >= PIECE:
                    yield outlet.take()
    finally:
        os.close(opened)
    return entry.size - left


def _described(entry: Entry) -> zipfile.ZipInfo:
    stamp = time.gmtime(entry.stamp[1] / 10**9)[:6]
    name = os.fsencode(entry.path).decode(errors="replace") + ("/" if entry.kind == "folder" else "")
    info = zipfile.ZipInfo(name, max(stamp, _EARLIEST) if stamp[0] < 2107 else _EARLIEST)
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


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
    with readable_errors(path), workspace.as_owner() as root:
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
