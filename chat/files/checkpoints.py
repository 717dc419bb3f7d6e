"""Checkpoints of a conversation's own workspace, so that each version of a turn has its own files.

A checkpoint is taken when a turn begins, and of the path that is left when another version begins or is
shown. They are kept beside the workspaces: `objects/` has contents and trees by their digest, `index.json`
tells which tree belongs to which turn. What is not stored is never changed or removed: files above
`MAX_FILE_BYTES` or beyond `MAX_TOTAL_BYTES`, and what is in folders such as .git and node_modules. Where the
files of another version would take its place, or cannot all be put there, the files stay as they are.
"""

from __future__ import annotations

import errno
import fcntl
import json
import logging
import os
import posixpath
import secrets
import stat
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TypedDict

from django.conf import settings

from chat.agent.removal import remove_folder
from chat.agent.safe_open import open_beneath, open_folder
from chat.agent.scan import CROWDED, Entry, Stamp, scan_workspace
from chat.agent.workspace import Workspace

log = logging.getLogger(__name__)

MAX_FILE_BYTES = 8 * 1024 * 1024
MAX_TOTAL_BYTES = 256 * 1024 * 1024  # of a conversation; what other versions need is never given up
MAX_TURNS = 200  # with checkpoints
_NOT_NEEDED = {errno.ENOENT, errno.EEXIST, errno.ENOTEMPTY}  # gone or made already; what stays is in it
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class File(TypedDict):
    """A file of a tree, or with mode 0 a symbolic link, whose content is its target."""

    digest: str
    mode: int
    stamp: Stamp


@dataclass
class Tree:
    """The files and folders of a workspace. `left_out` was there as well, but its content is not stored.

    `whole` is false if there was more, or a folder whose owner may not change it.
    """

    files: dict[str, File] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    whole: bool = True


@dataclass
class Index:
    """Digests of trees, by the keys of turns."""

    at: int = 0  # the turn whose files the workspace has; 0 if that is not known
    latest: str = ""  # the tree that was stored last
    restoring: str = ""  # the tree that the workspace is becoming
    before: dict[str, str] = field(default_factory=dict)  # when the turn began
    after: dict[str, str] = field(default_factory=dict)  # at the end of a path that was left

    def trees(self) -> set[str]:
        return {self.latest, self.restoring, *self.before.values(), *self.after.values()} - {""}


class Checkpoints:
    """All methods block. They raise WorkspaceError or OSError, and can then be called again."""

    def __init__(self, conversation_id: uuid.UUID, workspace: Workspace) -> None:
        self.path = checkpoints_path(conversation_id)
        self.workspace = workspace
        self.index = Index()

    def begin(self, turn_id: int, parent_id: int | None, versions: Iterable[int]) -> None:
        """Called before a turn's tools run, each time a worker takes it.

        For a new version, the files become what they were when the latest of the `versions` before it began.
        If the turn before it never began, `versions` are those of that turn.
        """
        with self._opened() as index:
            if str(turn_id) in index.before:
                return
            others = (index.before.get(str(version)) for version in sorted(versions, reverse=True))
            origin = next(filter(None, others), "")
            if index.at != turn_id and (origin or index.at != (parent_id or 0)):
                self._move(turn_id, origin or index.after.get(str(parent_id), ""))
            index.at = turn_id
            index.before[str(turn_id)] = self._store()
            self._prune()
            self._save()

    def show(self, latest: Callable[[], int | None]) -> None:
        """The files become what they were when the turn that the conversation now ends with was left.

        `latest` returns that turn; None while it works, as its worker calls `begin`. It is called while no
        other process moves files: of two who switch at once, the second could otherwise be undone.
        """
        if not self.path.exists():
            return
        with self._opened() as index:
            turn_id = latest()
            if turn_id and index.at != turn_id:
                self._move(turn_id, index.after.get(str(turn_id), ""))

    def paths_before(self, turn_id: int) -> set[str] | None:
        """Paths of what was there when the turn began, with what the user did since; None if not known."""
        if not self.path.exists():
            return None
        with self._opened() as index:
            tree = self._tree(index.before.get(str(turn_id), ""))
            return {*tree.files, *tree.left_out} if tree.whole else None

    def turn_with(self, path: str, turns: Iterable[int]) -> int | None:
        """The first of these turns that was left with the file; 0 if none was, None if that is not known."""
        if not self.path.exists():
            return None
        with self._opened() as index:
            trees = {turn: self._tree(index.after.get(str(turn), "")) for turn in turns}
            found = (turn for turn, tree in trees.items() if tree.whole and path in tree.files)
            return next(found, 0 if all(tree.whole for tree in trees.values()) else None)

    def forget(self, turns: Iterable[int]) -> None:
        """The turns were deleted: what only they had is not kept."""
        if not self.path.exists():
            return
        with self._opened() as index:
            for turn in turns:
                index.before.pop(str(turn), None)
                index.after.pop(str(turn), None)
            index.latest = ""
            self._save()
            self._remove_unused()

    def add(self, paths: Iterable[str]) -> None:
        """The user has added files of one folder: all versions have them."""
        if not self.path.exists():
            return
        with self._opened():
            now = self._tree(self._store())
            self._change_trees(lambda tree: _add(tree, {path: now.files.get(path) for path in paths}))

    def digest_of(self, path: str) -> str:
        """Names a file's content as it is now; "" if it is not stored."""
        if not self.path.exists():
            return ""
        with self._opened():
            file = self._tree(self._store()).files.get(path)
            return file["digest"] if file else ""

    def rename(self, old: str, new: str, digest: str) -> None:
        """The user has renamed a file with this content: it has the new name in all versions that have it."""
        with self._opened():
            self._change_trees(lambda tree: _rename(tree, old, new, digest))

    def remove(self, path: str, digest: str) -> None:
        """The user has deleted a file with this content: no version has it, and it is not kept."""
        with self._opened():
            self._change_trees(lambda tree: _remove(tree, path, digest))
            self._remove_unused()

    def _change_trees(self, change: Callable[[Tree], object]) -> None:
        index, changed = self.index, dict[str, str]()
        for digest in index.trees():
            tree = self._tree(digest)
            change(tree)
            changed[digest] = self._store_tree(tree)
        index.before = {key: changed[each] for key, each in index.before.items()}
        index.after = {key: changed[each] for key, each in index.after.items()}
        index.latest = changed.get(index.latest, "")
        self._save()

    @contextmanager
    def _opened(self) -> Iterator[Index]:
        """Read the index, for one process at a time, and complete a move that was cut off."""
        for folder in (self.path.parent, self.path, self.path / "objects"):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(self.path / "lock", "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with suppress(FileNotFoundError, ValueError, TypeError):
                self.index = Index(**json.loads((self.path / "index.json").read_bytes()))
            self._restore()
            yield self.index

    def _save(self) -> None:
        _replace(self.path / "index.json", json.dumps(asdict(self.index)).encode())

    def _move(self, turn_id: int, tree: str) -> None:
        """Keep the files of the path that is left, then restore the tree unless something would be lost."""
        now = self._store()
        if self.index.at:
            self.index.after[str(self.index.at)] = now
        if not tree or _has_room_for(self._tree(now), self._tree(tree)):
            self.index.at, self.index.restoring = turn_id, tree
        else:
            log.warning("the files of turn %s stay as they are in %s", turn_id, self.workspace.path)
        self._save()
        self._restore()

    def _restore(self) -> None:
        """Make the workspace what it is becoming."""
        if not self.index.restoring:
            return
        target, now = self._tree(self.index.restoring), self._tree(self._store())
        if target.whole:  # else it was lost
            self._change_into(target, now)
        self.index.restoring = ""
        self._save()

    def _change_into(self, target: Tree, now: Tree) -> None:
        for path in now.files.keys() - target.files.keys() - {*target.left_out}:
            self._change_entry(path, lambda folder, name: os.unlink(name, dir_fd=folder))
        for path in sorted({*now.folders} - {*target.folders}, reverse=True):
            self._change_entry(path, lambda folder, name: os.rmdir(name, dir_fd=folder))
        for path in sorted({*target.folders} - {*now.folders}):
            self._change_entry(path, lambda folder, name: os.mkdir(name, dir_fd=folder))
        for path, file in target.files.items():
            if not _is_same(now.files.get(path), file):
                self._write(path, file)

    def _write(self, path: str, file: File) -> None:
        content = self._get(file["digest"])
        if content is None:
            log.warning("the checkpoint of %s in %s is damaged: the file is left as it is", path, self.path)
            return

        def write(folder: int, name: str) -> None:
            temporary = f".{secrets.token_hex(8)}.tmp"
            try:
                _create(folder, temporary, content, file)
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=folder)
                raise

        self._change_entry(path, write)

    def _change_entry(self, path: str, change: Callable[[int, str], object]) -> None:
        """Change an entry of a folder, which is created if missing."""
        try:
            with self.workspace.as_owner() as root:
                folder = open_folder(root, posixpath.dirname(path), make=True)
                try:
                    change(folder, posixpath.basename(path))
                finally:
                    os.close(folder)
        except OSError as error:
            if error.errno not in _NOT_NEEDED:
                raise

    def _store(self) -> str:
        """Store the workspace as it is now; returns the tree's digest."""
        known = self._tree(self.index.latest).files
        scan = scan_workspace(self.workspace)
        tree, room = Tree(whole=scan.whole and not scan.closed), MAX_TOTAL_BYTES - self._used()
        for entry in scan.entries:
            if entry.kind == "folder" and entry.name not in CROWDED:
                tree.folders.append(entry.path)
                continue
            file, added = known.get(entry.path), 0
            if file is None or tuple(file["stamp"]) != entry.stamp:
                file, added = self._store_file(entry, room)
            room -= added
            if file:
                tree.files[entry.path] = file
            else:
                tree.left_out.append(entry.path)
        tree.whole = tree.whole and self._may_change(tree.folders)
        self.index.latest = self._store_tree(tree)
        return self.index.latest

    def _may_change(self, folders: Iterable[str]) -> bool:
        with self.workspace.as_owner() as root:
            modes = (os.stat(each, dir_fd=root, follow_symlinks=False).st_mode for each in folders)
            return all(mode & stat.S_IRWXU == stat.S_IRWXU for mode in modes)

    def _store_file(self, entry: Entry, room: int) -> tuple[File | None, int]:
        """The file and how many bytes it added; no file if it is too large, something else, or gone."""
        if entry.kind not in ("file", "link") or entry.size > min(MAX_FILE_BYTES, room):
            return None, 0
        try:
            content, mode = self._read(entry)
        except OSError:
            return None, 0
        if len(content) > min(MAX_FILE_BYTES, room):
            return None, 0
        digest, added = self._put(content)
        return File(digest=digest, mode=mode, stamp=entry.stamp), added

    def _read(self, entry: Entry) -> tuple[bytes, int]:
        with self.workspace.as_owner() as root:
            if entry.kind == "link":
                return _read_link(root, entry.path), 0
            with open(open_beneath(root, entry.path, _READ), "rb") as file:
                mode = os.fstat(file.fileno()).st_mode
                if not stat.S_ISREG(mode):
                    raise OSError(errno.ENXIO, os.strerror(errno.ENXIO))
                return file.read(MAX_FILE_BYTES + 1), 0o400 | mode & 0o777

    def _store_tree(self, tree: Tree) -> str:
        return self._put(json.dumps(asdict(tree), sort_keys=True).encode())[0]

    def _put(self, content: bytes) -> tuple[str, int]:
        """The digest of the stored content, and how many bytes it added."""
        digest = _digest(content)
        path = self.path / "objects" / digest
        if path.exists():
            return digest, 0
        _replace(path, content)
        return digest, len(content)

    def _get(self, digest: str) -> bytes | None:
        """A stored content; None if it was lost or damaged."""
        try:
            content = (self.path / "objects" / digest).read_bytes()
        except FileNotFoundError:
            return None
        return content if _digest(content) == digest else None

    def _tree(self, digest: str) -> Tree:
        content = self._get(digest) if digest else None
        return Tree(**json.loads(content)) if content else Tree(whole=False)

    def _prune(self) -> None:
        """Give up where turns began, the oldest first, until the rest fits. What was left is kept."""
        index = self.index
        most = MAX_TOTAL_BYTES * 3 // 4  # what comes next also needs room
        is_full = self._used() > most
        for key in sorted(index.before.keys() - {str(index.at)}, key=int):
            if len(index.before) <= MAX_TURNS and not is_full:
                return
            del index.before[key]
            if is_full:
                self._remove_unused()
                is_full = self._used() > most

    def _remove_unused(self) -> None:
        trees = self.index.trees()
        used = {file["digest"] for digest in trees for file in self._tree(digest).files.values()} | trees
        for name in set(os.listdir(self.path / "objects")) - used:
            (self.path / "objects" / name).unlink(missing_ok=True)

    def _used(self) -> int:
        with os.scandir(self.path / "objects") as objects:
            return sum(each.stat().st_size for each in objects)


def checkpoints_path(conversation_id: uuid.UUID) -> Path:
    return Path(settings.WORKSPACES).with_name("checkpoints") / str(conversation_id)


def remove_checkpoints(conversation_id: uuid.UUID) -> None:
    remove_folder(checkpoints_path(conversation_id))


def _has_room_for(now: Tree, target: Tree) -> bool:
    """Whether all files of the target can be put there, none in the place of one that is not stored."""
    if not now.whole or not target.whole:
        return False
    stays = {*now.left_out}
    beneath = {parent for path in stays for parent in _parents(path)}
    places = {*target.files, *target.folders}
    return not (
        stays & places
        or beneath & target.files.keys()
        or any(parent in stays for path in places for parent in _parents(path))
    )


def _parents(path: str) -> Iterator[str]:
    while path := posixpath.dirname(path):
        yield path


def _add(tree: Tree, files: dict[str, File | None]) -> None:
    """Add files unless the tree has them; those without a stored content stay as they are."""
    for path, file in files.items():
        if file is None:
            tree.left_out.append(path)
        else:
            tree.files.setdefault(path, file)


def _rename(tree: Tree, old: str, new: str, digest: str) -> None:
    if new not in tree.files and (file := _remove(tree, old, digest)):
        tree.files[new] = file


def _remove(tree: Tree, path: str, digest: str) -> File | None:
    """Take a file out of the tree if it has this content."""
    file = tree.files.get(path)
    return tree.files.pop(path) if file and file["digest"] == digest else None


def _is_same(one: File | None, other: File) -> bool:
    return one is not None and (one["digest"], one["mode"]) == (other["digest"], other["mode"])


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=20).hexdigest()


def _read_link(root: int, path: str) -> bytes:
    folder = open_folder(root, posixpath.dirname(path))
    try:
        return os.fsencode(os.readlink(posixpath.basename(path), dir_fd=folder))
    finally:
        os.close(folder)


def _create(folder: int, name: str, content: bytes, file: File) -> None:
    if not file["mode"]:
        os.symlink(os.fsdecode(content), name, dir_fd=folder)
        return
    descriptor = os.open(name, _CREATE, 0o600, dir_fd=folder)
    with open(descriptor, "wb") as opened:
        opened.write(content)
        opened.flush()
        os.fchmod(descriptor, file["mode"])
        os.utime(descriptor, ns=(file["stamp"][1], file["stamp"][1]))


def _replace(path: Path, content: bytes) -> None:
    """Write a whole file, so that no reader finds half of it."""
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
