"""Streams a workspace as a zip file."""

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

MAX_BYTES = 2 * 1024**3  # of content
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # the zip format's minimum
NOTE_NAME = "LEFT-OUT.txt"


class ZipSink:
    def __init__(self) -> None:
        self.written = bytearray()

    def write(self, data: bytes) -> int:
        self.written += data
        return len(data)

    def flush(self) -> None:
        pass

    def take(self) -> bytes:
        data = bytes(self.written)
        self.written.clear()
        return data


def archive(workspace: Workspace) -> Generator[bytes, None, None]:
    """The zip file in pieces. What is left out (links, devices, too large files) is listed in NOTE_NAME.

    Each piece may be requested from a different thread. Raises WorkspaceError before the first one.
    """
    scan = scan_workspace(workspace)
    sink = ZipSink()
    left_out = [] if scan.whole else ["(more files than are looked at)"]
    budget = MAX_BYTES
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as zip_file:  # type: ignore[call-overload]
        for entry in scan.entries:
            if entry.kind == "folder" and entry.name in CROWDED:
                left_out.append(f"{entry.path}/")
            elif entry.kind == "folder":
                zip_file.writestr(_zip_info(entry), b"")
            elif entry.kind != "file" or entry.size > budget or not is_utf8(entry.path):
                left_out.append(entry.path)
            else:
                try:
                    budget -= yield from _add_file(zip_file, sink, workspace, entry)
                except WorkspaceError as error:
                    left_out.append(f"{entry.path}: {error}")
        if left_out:
            zip_file.writestr(NOTE_NAME, os.fsencode("\n".join(left_out) + "\n").decode(errors="replace"))
    yield sink.take()


def _add_file(
    zip_file: zipfile.ZipFile, sink: ZipSink, workspace: Workspace, entry: Entry
) -> Generator[bytes, None, int]:
    descriptor = open_file(workspace, entry.path)
    remaining = entry.size
    try:
        with zip_file.open(_zip_info(entry), "w") as part:
            while remaining and (chunk := os.read(descriptor, min(CHUNK_SIZE, remaining))):
                remaining -= len(chunk)
                part.write(chunk)
                if len(sink.written) >= CHUNK_SIZE:
                    yield sink.take()
    finally:
        os.close(descriptor)
    return entry.size - remaining


def _zip_info(entry: Entry) -> zipfile.ZipInfo:
    stamp = time.gmtime(entry.stamp[1] / 10**9)[:6]
    name = os.fsencode(entry.path).decode(errors="replace") + ("/" if entry.kind == "folder" else "")
    info = zipfile.ZipInfo(name, max(stamp, _EARLIEST) if stamp[0] < 2107 else _EARLIEST)
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


CHUNK_SIZE = 64 * 1024
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY


@contextmanager
def opened_file(workspace: Workspace, path: str) -> Iterator[int]:
    """Open the regular file at `path` and yield its descriptor. Raises WorkspaceError for anything else."""
    descriptor = open_file(workspace, path)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_file(workspace: Workspace, path: str) -> int:
    name = relative(path)
    with readable_errors(path), workspace.as_owner() as root:
        descriptor = open_beneath(root, name, _READ)
        try:
            _check_regular(descriptor)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor


def _check_regular(descriptor: int) -> None:
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        code = errno.EISDIR if stat.S_ISDIR(mode) else errno.ENXIO
        raise OSError(code, os.strerror(code))


def read_head(workspace: Workspace, path: str, size: int) -> tuple[bytes, int]:
    with opened_file(workspace, path) as descriptor:
        return os.pread(descriptor, size, 0), os.fstat(descriptor).st_size
