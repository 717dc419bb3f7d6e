"""The files of a workspace that others may fetch: those that are as they were when they were shared."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from chat.agent.scan import is_utf8, scan_workspace, stamp_of
from chat.agent.workspace import Workspace, WorkspaceError, relative
from chat.files.archive import open_file

MOST = 500  # files of one link

Shared = Mapping[str, Any]


def shareable(workspace: Workspace) -> list[dict[str, Any]]:
    """The files that are there now, each with the stamp of its state; none where nobody has worked yet."""
    try:
        found = scan_workspace(workspace).entries
    except WorkspaceError:
        return []
    files = [each for each in found if each.kind == "file" and is_utf8(each.path)]
    return [{"path": each.path, "size": each.size, "stamp": list(each.stamp)} for each in files[:MOST]]


def open_shared(workspace: Workspace, files: Iterable[Shared], path: str) -> int:
    """A descriptor of a shared file, for the caller to close.

    Raises WorkspaceError for one that was not shared, is gone, or is not what it was then.
    """
    name = relative(path)
    stamp = next((each["stamp"] for each in files if each["path"] == name), None)
    if stamp is None:
        raise WorkspaceError(f"{name} is not shared.")
    opened = open_file(workspace, name)
    if list(stamp_of(os.fstat(opened))) != stamp:
        os.close(opened)
        raise WorkspaceError(f"{name} has changed since it was shared.")
    return opened


def unchanged(workspace: Workspace, files: Iterable[Shared]) -> list[Shared]:
    """Those of the shared files that can still be fetched."""
    return [each for each in files if _is_as_it_was(workspace, each)]


def _is_as_it_was(workspace: Workspace, file: Shared) -> bool:
    try:
        os.close(open_shared(workspace, [file], file["path"]))
    except WorkspaceError:
        return False
    return True
