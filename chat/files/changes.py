"""What a conversation changed in its workspace, whoever of its tools did it."""

from __future__ import annotations

import zlib
from typing import Literal

from chat.agent.walk import CROWDED, Entry, Walk
from chat.agent.workspace import Workspace, WorkspaceError
from chat.files.reading import beginning
from chat.files.start import KEPT_FILE, Start

Change = Literal["new", "changed", "deleted"]


def changes(workspace: Workspace, start: Start, now: Walk) -> dict[str, Change]:
    """Each file beneath `now.path` that is not as it was at the start, by its path."""
    if not start.known:
        return {}
    found: dict[str, Change] = {}
    for entry in now.entries:
        if entry.kind != "folder" and (change := change_of(workspace, entry, start)):
            found[entry.path] = change
    if now.whole:
        present = {entry.path for entry in now.entries}
        gone = (path for path in start.stamps if path not in present and _is_beneath(path, now.path))
        found |= dict.fromkeys(gone, "deleted")
    return found


def change_of(workspace: Workspace, entry: Entry, start: Start) -> Change | None:
    """What became of one file that is there; None if it is as it was."""
    if not start.known or _is_crowded(entry.path):
        return None
    if entry.path not in start.stamps:
        return "new" if start.whole else None  # else it may have been there, beyond what was looked at
    return "changed" if _differs(workspace, entry, start) else None


def _is_crowded(path: str) -> bool:
    """Whether the file lies where nobody looked at the start."""
    return not CROWDED.isdisjoint(path.split("/")[:-1])


def _is_beneath(path: str, folder: str) -> bool:
    return folder == "." or path.startswith(f"{folder}/")


def _differs(workspace: Workspace, entry: Entry, start: Start) -> bool:
    """Whether the content is another. Equal stamps say no; else the content says it, where it was kept."""
    before = start.stamps[entry.path]
    if entry.stamp == before:
        return False
    checksum = start.checksums.get(entry.path)
    if checksum is None or entry.size != before[0]:
        return entry.stamp[:2] != before[:2]  # an owner or a mode alone is no change of content
    try:
        content, _size = beginning(workspace, entry.path, KEPT_FILE)
    except WorkspaceError:
        return True
    return zlib.crc32(content) != checksum
