"""The baseline of a workspace: what the user gave the agent, to show what the agent has changed.

That is its state when the conversation began, and what the user has uploaded or renamed since. A zip file
beside the workspaces: the content of small files, up to a limit, and last a list of all files with size and
times.
"""

from __future__ import annotations

import json
import os
import secrets
import uuid
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Literal

from django.conf import settings

from chat.agent.scan import CROWDED, Entry, Scan, Stamp, scan_workspace
from chat.agent.workspace import Workspace, WorkspaceError
from chat.files.archive import read_head

MAX_FILE_BYTES = 256 * 1024  # the content of larger files is not stored
MAX_TOTAL_BYTES = 24 * 1024 * 1024


class Baseline:
    """Without a stored baseline (`known` is false), nothing counts as changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known = False
        self.whole = False
        self.stamps: dict[str, Stamp] = {}
        self._names: dict[str, str] = {}
        with suppress(FileNotFoundError, zipfile.BadZipFile, LookupError, ValueError):
            self._read()

    def _read(self) -> None:
        with zipfile.ZipFile(self.path) as record:
            index = json.loads(record.read(record.infolist()[-1]))
        self.stamps = {path: tuple(stamp) for path, stamp in index["stamps"].items()}
        self._names = index["kept"]
        self.whole, self.known = index["whole"], True

    def _save(self, contents: Iterable[tuple[str, bytes]] = (), *, anew: bool = False) -> None:
        """Add `contents` and the list. Of concurrent writers the first creates it; later, the last wins."""
        temporary = self.path.with_suffix(f".{secrets.token_hex(8)}")
        try:
            descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "w+b") as file:
                if self.known and not anew:
                    file.write(self.path.read_bytes())
                with zipfile.ZipFile(file, "a") as record:
                    self._append(record, contents)
            with suppress(FileExistsError):
                (os.replace if self.known else os.link)(temporary, self.path)
        finally:
            temporary.unlink(missing_ok=True)

    def _append(self, record: zipfile.ZipFile, contents: Iterable[tuple[str, bytes]]) -> None:
        for path, content in contents:
            name = self._names[path] = str(len(record.infolist()))
            record.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED, 1)
        index = {"stamps": self.stamps, "kept": self._names, "whole": self.whole}
        record.writestr(f"list-{len(record.infolist())}", json.dumps(index))

    def begin(self, workspace: Workspace) -> None:
        """Record all files."""
        scan = scan_workspace(workspace)
        files = [entry for entry in scan.entries if entry.kind != "folder"]
        self.stamps, self.whole = {entry.path: entry.stamp for entry in files}, scan.whole
        self._save(_contents(workspace, files, MAX_TOTAL_BYTES))

    def add(self, workspace: Workspace, paths: Collection[str]) -> None:
        """Record files of one folder, as they are now, as if they had been there from the beginning."""
        folder = os.path.dirname(next(iter(paths)))
        files = [entry for entry in scan_workspace(workspace, folder).entries if entry.path in paths]
        with zipfile.ZipFile(self.path) as record:
            room = MAX_TOTAL_BYTES - sum(each.file_size for each in record.infolist())
        self.stamps |= {entry.path: entry.stamp for entry in files}
        self._save(_contents(workspace, files, room))

    def rename(self, old: str, new: str) -> None:
        """Record a file under its new name, if it is recorded."""
        if old not in self.stamps:
            return
        self.stamps[new] = self.stamps.pop(old)
        if old in self._names:
            self._names[new] = self._names.pop(old)
        self._save()

    def remove(self, path: str) -> None:
        """Forget a file, with its content."""
        if self.stamps.pop(path, None) is None:
            return
        kept = [(each, self.content(each) or b"") for each in self._names if each != path]
        self._names = {}
        self._save(kept, anew=True)

    def content(self, path: str) -> bytes | None:
        """The file's content; None if it was not stored or the file did not exist."""
        name = self._names.get(path)
        if name is None:
            return None
        with zipfile.ZipFile(self.path) as record:
            return record.read(name)

    @cached_property
    def checksums(self) -> dict[str, int]:
        if not self._names:
            return {}
        with zipfile.ZipFile(self.path) as record:
            return {path: record.getinfo(name).CRC for path, name in self._names.items()}


def baseline_path(conversation_id: uuid.UUID) -> Path:
    return Path(settings.WORKSPACES).with_name("starts") / f"{conversation_id}.zip"


def baseline_of(conversation_id: uuid.UUID) -> Baseline:
    return Baseline(baseline_path(conversation_id))


def keep_baseline(conversation_id: uuid.UUID, workspace: Workspace) -> None:
    path = baseline_path(conversation_id)
    if path.exists():
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    Baseline(path).begin(workspace)


def remove_baseline(conversation_id: uuid.UUID) -> None:
    baseline_path(conversation_id).unlink(missing_ok=True)


def _contents(workspace: Workspace, files: list[Entry], budget: int) -> Iterator[tuple[str, bytes]]:
    for entry in files:
        if entry.kind != "file" or entry.size > min(MAX_FILE_BYTES, budget):
            continue
        try:
            content, size = read_head(workspace, entry.path, MAX_FILE_BYTES)
        except WorkspaceError:
            continue  # gone by now, or its name is not UTF-8
        if size <= MAX_FILE_BYTES:
            budget -= len(content)
            yield entry.path, content


Change = Literal["new", "changed", "deleted"]


def changes(workspace: Workspace, baseline: Baseline, scan: Scan) -> dict[str, Change]:
    """The files beneath `scan.path` that differ from the baseline, by path."""
    if not baseline.known:
        return {}
    changed: dict[str, Change] = {}
    for entry in scan.entries:
        if entry.kind != "folder" and (change := change_of(workspace, entry, baseline)):
            changed[entry.path] = change
    if scan.whole:
        present = {entry.path for entry in scan.entries}
        gone = (path for path in baseline.stamps if path not in present and _is_beneath(path, scan.path))
        changed |= dict.fromkeys(gone, "deleted")
    return changed


def change_of(workspace: Workspace, entry: Entry, baseline: Baseline) -> Change | None:
    """How an existing file differs from the baseline; None if it does not."""
    if not baseline.known or _is_crowded(entry.path):
        return None
    if entry.path not in baseline.stamps:
        return "new" if baseline.whole else None  # it may have existed beyond the scan's limit
    return "changed" if _differs(workspace, entry, baseline) else None


def _is_crowded(path: str) -> bool:
    return not CROWDED.isdisjoint(path.split("/")[:-1])


def _is_beneath(path: str, folder: str) -> bool:
    return folder == "." or path.startswith(f"{folder}/")


def _differs(workspace: Workspace, entry: Entry, baseline: Baseline) -> bool:
    """Whether the content differs. Equal stamps mean no; otherwise compares checksums where stored."""
    old_stamp = baseline.stamps[entry.path]
    if entry.stamp == old_stamp:
        return False
    checksum = baseline.checksums.get(entry.path)
    if checksum is None or entry.size != old_stamp[0]:
        return entry.stamp[:2] != old_stamp[:2]  # a change of owner or mode alone does not count
    try:
        content, _size = read_head(workspace, entry.path, MAX_FILE_BYTES)
    except WorkspaceError:
        return True
    return zlib.crc32(content) != checksum
