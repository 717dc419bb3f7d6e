"""What a workspace held when its conversation began, kept so that changes can be told and shown.

A zip file beside the workspaces: a list of every file with size and times, and the content of small ones up
to a bound. It is taken once, before the agent's first step.
"""

from __future__ import annotations

import json
import os
import secrets
import uuid
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Literal

from django.conf import settings

from chat.agent.scan import CROWDED, Entry, Scan, Stamp, scan_workspace
from chat.agent.workspace import Workspace, WorkspaceError
from chat.files.archive import beginning

KEPT_FILE = 256 * 1024  # bytes; a larger file's content is not kept
KEPT_ALL = 24 * 1024 * 1024
_LIST = "list"


class Baseline:
    """The state at a conversation's start. Without a record (`known` is false) nothing counts as changed."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.known = False
        self.whole = False
        self.stamps: dict[str, Stamp] = {}
        self._kept: dict[str, str] = {}
        with suppress(FileNotFoundError, zipfile.BadZipFile, KeyError, ValueError):
            self._read()

    def _read(self) -> None:
        with zipfile.ZipFile(self.place) as record:
            listed = json.loads(record.read(_LIST))
        self.stamps = {path: tuple(stamp) for path, stamp in listed["stamps"].items()}
        self._kept = listed["kept"]
        self.whole, self.known = listed["whole"], True

    def content(self, path: str) -> bytes | None:
        """What the file held; None where that was not kept, or where there was no such file."""
        name = self._kept.get(path)
        if name is None:
            return None
        with zipfile.ZipFile(self.place) as record:
            return record.read(name)

    @cached_property
    def checksums(self) -> dict[str, int]:
        """CRC-32 of each content that was kept, by path."""
        if not self._kept:
            return {}
        with zipfile.ZipFile(self.place) as record:
            return {path: record.getinfo(name).CRC for path, name in self._kept.items()}


def place_of(conversation_id: uuid.UUID) -> Path:
    """Where a conversation's record is kept."""
    return Path(settings.WORKSPACES).with_name("starts") / f"{conversation_id}.zip"


def start_of(conversation_id: uuid.UUID) -> Baseline:
    """The record of a conversation's start, as far as there is one."""
    return Baseline(place_of(conversation_id))


def keep_start(conversation_id: uuid.UUID, workspace: Workspace) -> None:
    """Record what the workspace holds now, unless that was done before."""
    place = place_of(conversation_id)
    if place.exists():
        return
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = place.with_suffix(f".{secrets.token_hex(8)}")
    try:
        private = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        with open(private, "w+b") as file, zipfile.ZipFile(file, "w") as record:
            _write(record, workspace)
        with suppress(FileExistsError):  # of two at once the first counts
            os.link(temporary, place)
    finally:
        temporary.unlink(missing_ok=True)


def forget_start(conversation_id: uuid.UUID) -> None:
    """Throw a conversation's record away."""
    place_of(conversation_id).unlink(missing_ok=True)


def _write(record: zipfile.ZipFile, workspace: Workspace) -> None:
    found = scan_workspace(workspace)
    files = [entry for entry in found.entries if entry.kind != "folder"]
    kept = {}
    for number, (path, content) in enumerate(_contents(workspace, files)):
        record.writestr(zipfile.ZipInfo(str(number)), content, zipfile.ZIP_DEFLATED, 1)
        kept[path] = str(number)
    stamps = {entry.path: entry.stamp for entry in files}
    record.writestr(_LIST, json.dumps({"stamps": stamps, "kept": kept, "whole": found.whole}))


def _contents(workspace: Workspace, files: list[Entry]) -> Iterator[tuple[str, bytes]]:
    room = KEPT_ALL
    for entry in files:
        if entry.kind != "file" or entry.size > min(KEPT_FILE, room):
            continue
        try:
            content, size = beginning(workspace, entry.path, KEPT_FILE)
        except WorkspaceError:
            continue  # gone meanwhile, or a name that is no UTF-8
        if size <= KEPT_FILE:
            room -= len(content)
            yield entry.path, content


Change = Literal["new", "changed", "deleted"]


def changes(workspace: Workspace, start: Baseline, now: Scan) -> dict[str, Change]:
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


def change_of(workspace: Workspace, entry: Entry, start: Baseline) -> Change | None:
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


def _differs(workspace: Workspace, entry: Entry, start: Baseline) -> bool:
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
