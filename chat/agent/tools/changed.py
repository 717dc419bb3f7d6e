"""What a command changed in its workspace, told by a look at every file before and one after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chat.agent.walk import Stamp, Walk, walk
from chat.agent.workspace import Workspace, WorkspaceError

MOST = 100  # paths that are named


class Look:
    """The workspace as it was when this was made, as far as it could be looked at."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.before = _seen(workspace)

    def changed(self) -> dict[str, Any]:
        """For a call's `detail`: `changed`, paths of files that were made, changed or removed since.

        Beyond the first 100 they are counted, as `changed_more`. What lies in folders that tools fill by the
        thousand is not looked at, nor is what lies beyond the bound of a walk.
        """
        now = _seen(self.workspace)
        old, new = _stamps(self.before), _stamps(now)
        paths = {path for path in old.keys() & new.keys() if old[path] != new[path]}
        if self.before.whole and now.whole:
            paths |= old.keys() ^ new.keys()
        if not paths:
            return {}
        named = sorted(paths)[:MOST]
        return {"changed": named} | ({"changed_more": len(paths) - MOST} if len(paths) > MOST else {})


def _seen(workspace: Workspace) -> Walk:
    """What is in the workspace; nothing that could be relied on where it cannot be looked at."""
    try:
        return walk(workspace)
    except WorkspaceError:
        return Walk(".", [], whole=False)


def _stamps(found: Walk) -> Mapping[str, Stamp]:
    """When the content of each file was changed; an owner or a mode alone is no change of it."""
    files = [entry for entry in found.entries if entry.kind != "folder" and _is_text(entry.path)]
    return {entry.path: (*entry.stamp[:2], 0) for entry in files}


def _is_text(path: str) -> bool:
    return path.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in path)
