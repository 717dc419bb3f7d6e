"""Lists the files of a workspace up to a bound, following no symbolic links."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from chat.agent.safe_open import open_beneath
from chat.agent.workspace import Workspace, readable_errors, relative

MAX_ENTRIES = 20_000
_LONGEST_PATH = 3800  # bytes; the system's limit is 4096
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW

# Folders that tools fill with thousands of files: listed, but only entered when the user opens them.
CROWDED = {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".cache"}
CROWDED |= {".mypy_cache", ".pytest_cache", ".ruff_cache", "target", ".gradle", ".next"}

Kind = Literal["folder", "file", "link", "other"]
Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class Entry:
    """A file, folder or link. `path` is relative to the workspace; non-UTF-8 bytes become surrogates."""

    path: str
    kind: Kind
    size: int = 0
    stamp: Stamp = (0, 0, 0)
    """Size, mtime and ctime in nanoseconds; users cannot set the ctime."""

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class Scan:
    """Breadth first; `whole` is false if a bound cut it short. Folders in `closed` could not be read."""

    path: str
    entries: list[Entry]
    whole: bool
    closed: Collection[str] = ()


def scan_workspace(workspace: Workspace, path: str = ".", max_entries: int = MAX_ENTRIES) -> Scan:
    """List everything beneath the folder `path`; crowded folders are not entered. Raises WorkspaceError."""
    path = relative(path)
    with readable_errors(path), workspace.as_owner() as root:
        entries, closed, whole = list[Entry](), list[str](), True
        pending = deque([path])
        while pending:
            folder = pending.popleft()
            room = max_entries - len(entries)
            try:
                listed = sorted(_entries(root, folder, room), key=lambda entry: entry.path)
            except OSError:
                if folder == path:
                    raise
                closed.append(folder)  # or it was removed concurrently
                continue
            entries += listed
            if len(entries) >= max_entries:
                return Scan(path, entries, whole=False, closed=closed)
            folders = [each.path for each in listed if each.kind == "folder" and each.name not in CROWDED]
            openable = [each for each in folders if len(os.fsencode(each)) <= _LONGEST_PATH]
            whole = whole and openable == folders
            pending.extend(openable)
        return Scan(path, entries, whole, closed)


def _entries(root: int, folder: str, max_entries: int) -> Iterator[Entry]:
    descriptor = open_beneath(root, folder, _FOLDER)
    try:
        with os.scandir(descriptor) as entries:
            for each in islice(entries, max_entries):
                path = each.name if folder == "." else f"{folder}/{each.name}"
                try:
                    yield _entry(path, each.stat(follow_symlinks=False))
                except FileNotFoundError:
                    continue
    finally:
        os.close(descriptor)


def _entry(path: str, status: os.stat_result) -> Entry:
    return Entry(path, _kind(status.st_mode), status.st_size, stamp_of(status))


def stamp_of(status: os.stat_result) -> Stamp:
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _kind(mode: int) -> Kind:
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISREG(mode):
        return "file"
    return "link" if stat.S_ISLNK(mode) else "other"


def is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
