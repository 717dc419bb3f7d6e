"""A workspace as a tree of rows, as many as a page can bear."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from chat.agent.scan import CROWDED, Entry, Kind, is_utf8
from chat.files.baseline import Change

MOST_ROWS = 1000
DEEPEST = 12  # folders within each other on one page


@dataclass
class Row:
    """One name on the page; a folder with what is in it."""

    path: str
    kind: Kind
    size: int = 0
    change: Change | None = None
    rows: list[Row] = field(default_factory=list)
    changed: int = 0
    """In a folder: how many files beneath it are not as they were."""
    closed: bool = False
    """A folder whose inside is not on this page."""

    @property
    def name(self) -> str:
        """The name in characters that can be shown."""
        return shown(self.path.rpartition("/")[2])

    @property
    def address(self) -> str:
        """The query that asks for it."""
        return address(self.path)

    @property
    def dom_id(self) -> str:
        """Its id on the page, the same each time."""
        return f"folder-{hashlib.sha256(os.fsencode(self.path)).hexdigest()[:16]}"

    @property
    def can_be_opened(self) -> bool:
        """Whether its name can stand in an address."""
        return is_utf8(self.path)


@dataclass(frozen=True)
class Tree:
    """Rows beneath a folder; `unshown` more entries are there."""

    path: str
    rows: list[Row]
    unshown: int
    changed: int
    whole: bool

    @property
    def shown_path(self) -> str:
        return shown(self.path)


def tree_of(path: str, entries: Iterable[Entry], changes: Mapping[str, Change], *, whole: bool) -> Tree:
    """The tree of what was found beneath `path`, shallow first, with the files that were deleted there."""
    gone = [Entry(each, "file") for each, change in changes.items() if change == "deleted"]
    inside = [entry for entry in gone if path == "." or entry.path.startswith(f"{path}/")]
    top = Row(path, "folder")
    folders = {path: top}
    unshown = 0
    count = 0
    for entry in [*entries, *inside]:
        parent = _parent(folders, entry.path, path)
        if parent is None or count >= MOST_ROWS:
            unshown += 1
            _close(folders, entry.path)
            continue
        count += 1
        row = Row(entry.path, entry.kind, entry.size, changes.get(entry.path))
        parent.rows.append(row)
        if entry.kind == "folder":
            folders[entry.path] = row
            row.closed = entry.name in CROWDED or _depth(entry.path, path) >= DEEPEST
    _count(folders, changes)
    for folder in folders.values():
        folder.rows.sort(key=lambda row: (row.kind != "folder", row.path.casefold(), row.path))
    return Tree(path, top.rows, unshown, top.changed, whole)


def _parent(folders: dict[str, Row], path: str, top: str) -> Row | None:
    """The row of the folder that the path is in; one that was deleted with it is made again."""
    above = path.rpartition("/")[0] or "."
    if above in folders:
        return None if folders[above].closed else folders[above]
    if _depth(above, top) > DEEPEST:
        return None
    grandparent = _parent(folders, above, top)
    if grandparent is None:
        return None
    folders[above] = Row(above, "folder", change="deleted")
    grandparent.rows.append(folders[above])
    return folders[above]


def _close(folders: dict[str, Row], path: str) -> None:
    """A folder that lacks rows says so."""
    above = path.rpartition("/")[0] or "."
    if above in folders and folders[above].path != ".":
        folders[above].closed = not folders[above].rows


def _count(folders: dict[str, Row], changes: Mapping[str, Change]) -> None:
    for path in changes:
        above = path.rpartition("/")[0] or "."
        while True:
            if above in folders:
                folders[above].changed += 1
            if above == ".":
                break
            above = above.rpartition("/")[0] or "."


def _depth(path: str, top: str) -> int:
    return path.count("/") - (top.count("/") + 1 if top != "." else 0) + 1


def address(path: str) -> str:
    """The query that asks for a path; empty for one that no address can hold."""
    return f"?path={quote(path, safe='/')}" if is_utf8(path) else ""


def shown(name: str) -> str:
    """The name with every character that is not printable, or turns text round, replaced."""
    text = os.fsencode(name).decode(errors="replace")
    return "".join(c if c.isprintable() else "\ufffd" for c in text)
