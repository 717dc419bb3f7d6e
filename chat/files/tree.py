"""A workspace as a tree of rows, limited to what a page can show."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from chat.agent.scan import CROWDED, Entry, Kind, is_utf8
from chat.files.baseline import Change
from chat.files.uploads import FOLDER as UPLOADS

MAX_ROWS = 1000
MAX_DEPTH = 12  # of nested folders on one page
MAX_OPEN = 50  # files for which a folder is unfolded at first
_NUMBER = re.compile(r"([0-9]+)")


@dataclass
class Row:
    path: str
    kind: Kind
    size: int = 0
    change: Change | None = None
    rows: list[Row] = field(default_factory=list)
    changed: int = 0
    """Number of changed files beneath a folder."""
    closed: bool = False
    """Whether a folder's content is not on this page."""

    @property
    def name(self) -> str:
        return shown(self.path.rpartition("/")[2])

    @property
    def address(self) -> str:
        return address(self.path)

    @property
    def dom_id(self) -> str:
        """Stable across requests."""
        return f"folder-{hashlib.sha256(os.fsencode(self.path)).hexdigest()[:16]}"

    @property
    def is_unfolded(self) -> bool:
        """Whether a folder is shown with its content at first: with what has changed or was uploaded."""
        return 0 < (len(self.rows) if self.path == UPLOADS else self.changed) < MAX_OPEN

    @property
    def is_empty(self) -> bool:
        """Whether it is a folder without anything."""
        return self.kind == "folder" and not (self.rows or self.closed or self.change)

    @property
    def can_be_opened(self) -> bool:
        return is_utf8(self.path)


@dataclass(frozen=True)
class Tree:
    path: str
    rows: list[Row]
    unshown: int
    changed: int
    whole: bool

    @property
    def address(self) -> str:
        return address(self.path)

    @property
    def shown_path(self) -> str:
        return shown(self.path)


def tree_of(path: str, entries: Iterable[Entry], changes: Mapping[str, Change], *, whole: bool) -> Tree:
    """The tree of the entries beneath `path`, which come shallow first, and of the files deleted there.

    The folder for uploads is left out once it is empty.
    """
    deleted = [Entry(each, "file") for each, change in changes.items() if change == "deleted"]
    deleted_inside = [entry for entry in deleted if path == "." or entry.path.startswith(f"{path}/")]
    top = Row(path, "folder")
    folders = {path: top}
    unshown = 0
    count = 0
    for entry in [*entries, *deleted_inside]:
        parent = _parent(folders, entry.path, path)
        if parent is None or count >= MAX_ROWS:
            unshown += 1
            _close(folders, entry.path)
            continue
        count += 1
        row = Row(entry.path, entry.kind, entry.size, changes.get(entry.path))
        parent.rows.append(row)
        if entry.kind == "folder":
            folders[entry.path] = row
            row.closed = entry.name in CROWDED or _depth(entry.path, path) >= MAX_DEPTH
    _count_changes(folders, changes)
    for folder in folders.values():
        folder.rows.sort(key=lambda row: (row.kind != "folder", _natural(row.path.casefold()), row.path))
    rows = [row for row in top.rows if not (whole and row.path == UPLOADS and row.is_empty)]
    return Tree(path, rows, unshown, top.changed, whole)


def _natural(path: str) -> list[str | int]:
    """A key by which file 2 comes before file 10."""
    return [int(part) if index % 2 else part for index, part in enumerate(_NUMBER.split(path))]


def _parent(folders: dict[str, Row], path: str, top: str) -> Row | None:
    """The row of the path's folder; a folder that was deleted with it is added. None if it is not shown."""
    folder = path.rpartition("/")[0] or "."
    if folder in folders:
        return None if folders[folder].closed else folders[folder]
    if _depth(folder, top) > MAX_DEPTH:
        return None
    grandparent = _parent(folders, folder, top)
    if grandparent is None:
        return None
    folders[folder] = Row(folder, "folder", change="deleted")
    grandparent.rows.append(folders[folder])
    return folders[folder]


def _close(folders: dict[str, Row], path: str) -> None:
    folder = path.rpartition("/")[0] or "."
    if folder in folders and folders[folder].path != ".":
        folders[folder].closed = not folders[folder].rows


def _count_changes(folders: dict[str, Row], changes: Mapping[str, Change]) -> None:
    for path in changes:
        folder = path.rpartition("/")[0] or "."
        while True:
            if folder in folders:
                folders[folder].changed += 1
            if folder == ".":
                break
            folder = folder.rpartition("/")[0] or "."


def _depth(path: str, top: str) -> int:
    return path.count("/") - (top.count("/") + 1 if top != "." else 0) + 1


def address(path: str) -> str:
    return f"?path={quote(path, safe='/')}" if is_utf8(path) else ""


def shown(name: str) -> str:
    """The name with unprintable and bidirectional characters replaced."""
    text = os.fsencode(name).decode(errors="replace")
    return "".join(c if c.isprintable() else "\ufffd" for c in text)
