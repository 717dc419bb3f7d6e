"""What the model knows of the workspace's files: the state in which it last read or wrote each of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from chat.agent.workspace import WorkspaceError, relative


class ReadState:
    """Remembers file contents by their hash, so that a change made on what is no longer there can be refused.

    `known` maps paths beneath the workspace to states that were noted before, in an earlier turn or before a
    restart; tools tell the state with their results.
    """

    def __init__(self, known: Mapping[str, str] | None = None) -> None:
        self._known = dict(known or {})

    def note(self, path: str, data: bytes) -> dict[str, str]:
        """Remember that the model knows the file as `data`; gives what a result's `detail` says of it."""
        name, state = relative(path), hashlib.blake2b(data, digest_size=16).hexdigest()
        self._known[name] = state
        return {"path": name, "state": state}

    def check(self, path: str, data: bytes) -> None:
        """Raise WorkspaceError if the model knows the file in another state than `data`.

        A file that it has not read here is let pass: then only what it says of the text can be checked.
        """
        known = self._known.get(relative(path))
        if known not in (None, hashlib.blake2b(data, digest_size=16).hexdigest()):
            raise WorkspaceError(f"{path} has changed since you last read or wrote it. Read the file again.")
