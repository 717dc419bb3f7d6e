"""Which state of each file the model has read or written last."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from chat.agent.workspace import WorkspaceError, relative


class ReadState:
    """Hashes of the files as the model knows them, also from earlier turns; guards against stale edits."""

    def __init__(self, known: Mapping[str, str] | None = None) -> None:
        self._known = dict(known or {})

    def note(self, path: str, data: bytes) -> dict[str, str]:
        """Remember `data` as the state that the model knows; returns the fields for the result's `detail`."""
        name, state = relative(path), hashlib.blake2b(data, digest_size=16).hexdigest()
        self._known[name] = state
        return {"path": name, "state": state}

    def check(self, path: str, data: bytes) -> None:
        """Raise WorkspaceError if the model knows the file in another state; unread files pass."""
        known = self._known.get(relative(path))
        if known not in (None, hashlib.blake2b(data, digest_size=16).hexdigest()):
            raise WorkspaceError(f"{path} has changed since you last read or wrote it. Read the file again.")
