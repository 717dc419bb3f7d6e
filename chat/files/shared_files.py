"""Workspace files in share links: those that have not changed since they were shared."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from chat.agent.scan import is_utf8, scan_workspace, stamp_of
from chat.agent.workspace import Workspace, WorkspaceError, relative
from chat.files.archive import open_file

MAX_FILES = 500  # of one link

Shared = Mapping[str, Any]


def shareable(workspace: Workspace) -> list[dict[str, Any]]:
    """The current files, each with its stamp; empty if the workspace does not exist yet."""
    try:
        entries = scan_workspace(workspace).entries
    except WorkspaceError:
        return []
    files = [each for each in entries if each.kind == "file" and is_utf8(each.path)]
    return [{"path": each.path, "size": each.size, "stamp": list(each.stamp)} for each in files[:MAX_FILES]]


def open_shared(workspace: Workspace, files: Iterable[Shared], path: str) -> int:
    """A descriptor of a shared file, which the caller closes.

    Raises WorkspaceError if the file was not shared, is gone or has changed.
    """
    name = relative(path)
    stamp = next((each["stamp"] for each in files if each["path"] == name), None)
    if stamp is None:
        raise WorkspaceError(f"{name} is not shared.")
    descriptor = open_file(workspace, name)
    if list(stamp_of(os.fstat(descriptor))) != stamp:
        os.close(descriptor)
        raise WorkspaceError(f"{name} has changed since it was shared.")
    return descriptor


def unchanged(workspace: Workspace, files: Iterable[Shared]) -> list[Shared]:
    return [each for each in files if _is_unchanged(workspace, each)]


def _is_unchanged(workspace: Workspace, file: Shared) -> bool:
    try:
        os.close(open_shared(workspace, [file], file["path"]))
    except WorkspaceError:
        return False
    return True
