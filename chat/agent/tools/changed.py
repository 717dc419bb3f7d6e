"""What a command changed in its workspace, told by a look at every file before and one after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chat.agent.walk import Stamp, Walk, is_utf8, walk
from chat.agent.workspace import Workspace, WorkspaceError

MOST_LOOKED_AT = 5000  # files and folders; it takes about 7 microseconds for each, twice a command
MOST_NAMED = 20


class Look:
    """The workspace as it was when this was made, as far as it could be looked at."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.before = _seen(workspace)

    def changed(self) -> dict[str, Any]:
        """For a call's `detail`: `changed`, paths of files that were made, changed or removed since.

        Those of them that are there no more are in `removed` too. Beyond the first twenty they are counted,
        as `changed_more`. What lies in folders that tools fill by the thousand, or that are closed, is not
        looked at; nothing is told of a workspace with 5,000 files and folders or more.
        """
        if not self.before.whole or not (now := _seen(self.workspace)).whole:
            return {}
        old, new = _stamps(self.before), _stamps(now)
        closed = [f"{folder}/" for folder in {*self.before.closed, *now.closed}]
        paths = {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
        found = sorted(path for path in paths if not any(map(path.startswith, closed)))
        named = found[:MOST_NAMED]
        told = {
            "changed": named,
            "removed": [path for path in named if path not in new],
            "changed_more": len(found) - len(named),
        }
        return {name: value for name, value in told.items() if value}


def _seen(workspace: Workspace) -> Walk:
    """What is in the workspace; not the whole where it cannot be looked at."""
    try:
        return walk(workspace, most=MOST_LOOKED_AT)
    except WorkspaceError:
        return Walk(".", [], whole=False)


def _stamps(found: Walk) -> Mapping[str, Stamp]:
    """When the content of each file was changed; an owner or a mode alone is no change of it."""
    files = [entry for entry in found.entries if entry.kind == "file" and is_utf8(entry.path)]
    return {entry.path: (*entry.stamp[:2], 0) for entry in files}
