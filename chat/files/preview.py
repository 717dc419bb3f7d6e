"""One file as a person looks at it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from chat.agent.pictures import HEAD, image_type
from chat.agent.safe_open import open_beneath
from chat.agent.scan import Entry, stamp_of
from chat.agent.workspace import Workspace, WorkspaceError, relative
from chat.files.archive import opened
from chat.files.baseline import Baseline, Change, change_of
from chat.files.tree import address, shown

MOST_SHOWN = 256 * 1024  # bytes of a text; as much is kept of the start
MOST_PAINTED = 20 * 1024 * 1024  # bytes of a picture


@dataclass(frozen=True)
class FilePreview:
    """What there is to see of a file. A file that was deleted has its change alone."""

    path: str
    kind: Kind
    size: int = 0
    change: Change | None = None
    text: str = ""
    """The beginning of it, if it is text."""
    before: bytes | None = None
    """What it held at the conversation's start, if that was kept."""
    after: bytes | None = None
    """What it holds now, as far as it is compared; None for one that is gone."""
    version: str = ""
    """Another one for another state of the file."""

    @property
    def name(self) -> str:
        return shown(self.path.rpartition("/")[2])

    @property
    def address(self) -> str:
        """The query that asks for it."""
        return address(self.path)

    @property
    def shown_path(self) -> str:
        return shown(self.path)

    @property
    def is_cut(self) -> bool:
        """Whether the text goes on beyond what is shown."""
        return self.size > MOST_SHOWN

    @property
    def can_be_compared(self) -> bool:
        """Whether its change can be shown."""
        return self.change == "new" or (self.change is not None and self.before is not None)


def look_at(workspace: Workspace, path: str, start: Baseline) -> FilePreview:
    """The file at `path`, also one that was deleted since the start; raises WorkspaceError for any other."""
    name = relative(path)
    try:
        with opened(workspace, name) as found:
            status = os.fstat(found)
            data = os.pread(found, MOST_SHOWN, 0)
    except WorkspaceError:
        if name in start.stamps and not _exists(workspace, name):
            return FilePreview(name, "other", change="deleted", before=start.content(name))
        raise
    entry = Entry(name, "file", status.st_size, stamp_of(status))
    kind, text = _kind(data, entry.size)
    change, before = change_of(workspace, entry, start), start.content(name)
    version = "-".join(map(str, entry.stamp))
    return FilePreview(name, kind, entry.size, change, text, before, data, version)


def _exists(workspace: Workspace, name: str) -> bool:
    try:
        with workspace.as_owner() as root:
            os.close(open_beneath(root, name, os.O_PATH | os.O_NOFOLLOW))
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True


def _kind(data: bytes, size: int) -> tuple[Kind, str]:
    if image_type(data[:HEAD]):
        return ("image" if size <= MOST_PAINTED else "other"), ""
    text = text_of(data, cut=size > len(data))
    return ("other", "") if text is None else ("text", text)


Kind = Literal["text", "image", "other"]


def text_of(data: bytes, *, cut: bool = False) -> str | None:
    """The bytes as text; None if they are none. With `cut` they may end within a character."""
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if cut and error.start >= len(data) - 3 and error.reason == "unexpected end of data":
            return data[: error.start].decode()
        return None
