"""Going through a workspace: every file that a person may want to see, up to a bound; no link is followed."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from chat.agent.safe_open import open_beneath
from chat.agent.workspace import Workspace, relative, sentences

MOST_ENTRIES = 20_000  # looked at
_LONGEST_PATH = 3800  # bytes; 4096 are the system's limit
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW

# Made by tools by the thousand: they are listed, and looked into only when a person opens them.
CROWDED = {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".cache"}
CROWDED |= {".mypy_cache", ".pytest_cache", ".ruff_cache", "target", ".gradle", ".next"}

Kind = Literal["folder", "file", "link", "other"]
Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class Entry:
    """One name in a workspace. `path` is relative to it; bytes that are no UTF-8 are surrogates in it."""

    path: str
    kind: Kind
    size: int = 0
    stamp: Stamp = (0, 0, 0)
    """Size, and times of change in nanoseconds: of the content and, which nobody can set, of anything."""

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class Scan:
    """What was found beneath `path`, shallow before deep; `whole` is false where a bound ended it.

    The folders that were `closed` to it could not be looked into.
    """

    path: str
    entries: list[Entry]
    whole: bool
    closed: Collection[str] = ()


def walk(workspace: Workspace, path: str = ".", most: int = MOST_ENTRIES) -> Scan:
    """Everything beneath the folder `path`; crowded folders are not entered. Raises WorkspaceError."""
    path = relative(path)
    with sentences(path), workspace.as_owner() as root:
        found, closed, whole = list[Entry](), list[str](), True
        waiting = deque([path])
        while waiting:
            folder = waiting.popleft()
            try:
                entries = sorted(_entries(root, folder, most - len(found)), key=lambda entry: entry.path)
            except OSError:
                if folder == path:
                    raise
                closed.append(folder)  # or it is gone meanwhile
                continue
            found += entries
            if len(found) >= most:
                return Scan(path, found, whole=False, closed=closed)
            folders = [each.path for each in entries if each.kind == "folder" and each.name not in CROWDED]
            near = [each for each in folders if len(os.fsencode(each)) <= _LONGEST_PATH]
            whole = whole and near == folders
            waiting.extend(near)
        return Scan(path, found, whole, closed)


def _entries(root: int, folder: str, most: int) -> Iterator[Entry]:
    opened = open_beneath(root, folder, _FOLDER)
    try:
        with os.scandir(opened) as found:
            for _number, each in zip(range(most), found, strict=False):
                path = each.name if folder == "." else f"{folder}/{each.name}"
                try:
                    yield _entry(path, each.stat(follow_symlinks=False))
                except FileNotFoundError:
                    continue
    finally:
        os.close(opened)


def _entry(path: str, status: os.stat_result) -> Entry:
    return Entry(path, _kind(status.st_mode), status.st_size, stamp_of(status))


def stamp_of(status: os.stat_result) -> Stamp:
    """What tells one state of a file from another."""
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _kind(mode: int) -> Kind:
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISREG(mode):
        return "file"
    return "link" if stat.S_ISLNK(mode) else "other"


def is_utf8(name: str) -> bool:
    """Whether the name is text, rather than bytes that only this system can make something of."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
