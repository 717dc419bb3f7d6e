"""Workspace files in share links: those that have not changed since they were shared."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import blake2b
from typing import Any

from chat.agent.scan import Entry, is_utf8, scan_workspace, stamp_of
from chat.agent.workspace import Workspace, WorkspaceError, relative
from chat.files.archive import open_file

MAX_FILES = 500  # of one link
MAX_DIGESTED_BYTES = 32 * 2**20  # of one link

Shared = Mapping[str, Any]


def shareable(workspace: Workspace) -> list[dict[str, Any]]:
    """The current files, each with its stamp and, up to MAX_DIGESTED_BYTES, the digest of its content.

    Empty if the workspace does not exist yet.
    """
    try:
        entries = scan_workspace(workspace).entries
    except WorkspaceError:
        return []
    files = [each for each in entries if each.kind == "file" and is_utf8(each.path)]
    room = MAX_DIGESTED_BYTES
    shared = []
    for entry in files[:MAX_FILES]:
        file: dict[str, Any] = {"path": entry.path, "size": entry.size, "stamp": list(entry.stamp)}
        if entry.size <= room and (digest := _digest_of(workspace, entry)):
            file["digest"] = digest
            room -= entry.size
        shared.append(file)
    return shared


def _digest_of(workspace: Workspace, entry: Entry) -> str:
    """The digest of its content; empty if it cannot be read or has just changed."""
    with suppress(WorkspaceError):
        descriptor = open_file(workspace, entry.path)
        try:
            digest = _digest(descriptor, entry.size)
            return digest if stamp_of(os.fstat(descriptor)) == entry.stamp else ""
        finally:
            os.close(descriptor)
    return ""


def _digest(descriptor: int, size: int) -> str:
    return blake2b(os.pread(descriptor, size, 0), digest_size=20).hexdigest()


def open_shared(workspace: Workspace, files: Iterable[Shared], path: str) -> int:
    """A descriptor of a shared file, which the caller closes.

    Raises WorkspaceError if the file was not shared, is gone or has changed.
    """
    name = relative(path)
    file = next((each for each in files if each["path"] == name), None)
    if file is None:
        raise WorkspaceError(f"{name} is not shared.")
    descriptor = open_file(workspace, name)
    if not _is_same(descriptor, file):
        os.close(descriptor)
        raise WorkspaceError(f"{name} has changed since it was shared.")
    return descriptor


def _is_same(descriptor: int, file: Shared) -> bool:
    """Whether the content is that which was shared. A version that is shown again has new stamps."""
    status = os.fstat(descriptor)
    if list(stamp_of(status)) == file["stamp"]:
        return True
    digest = file.get("digest")
    return bool(digest) and status.st_size == file["size"] and _digest(descriptor, file["size"]) == digest


def unchanged(workspace: Workspace, files: Iterable[Shared]) -> list[Shared]:
    return [each for each in files if _is_unchanged(workspace, each)]


def _is_unchanged(workspace: Workspace, file: Shared) -> bool:
    try:
        os.close(open_shared(workspace, [file], file["path"]))
    except WorkspaceError:
        return False
    return True
