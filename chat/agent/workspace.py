"""The workspace: one directory that the file tools cannot leave."""

from __future__ import annotations

import errno
import os
import posixpath
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from chat.agent.ownership import acting_as, give_to_sandbox_user
from chat.agent.safe_open import open_beneath, open_folder, walk_open

MOUNT = "/workspace"
"""The workspace's path inside the sandbox; the file tools accept the same absolute paths."""
FILE_LIMIT = 2 * 1024 * 1024
"""Bytes of the largest file that the file tools read or write."""
_PATH_LIMIT = 4096

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY  # opening a pipe or a device must not block
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_REASONS = {
    errno.ENOENT: "does not exist",
    errno.EXDEV: "leads outside the workspace",
    errno.ELOOP: "is a symbolic link, or passes through one, which is not followed here; use the real path",
    errno.ENOTDIR: "passes through something that is not a folder (a file or a symbolic link)",
    errno.EISDIR: "is a folder",
    errno.ENAMETOOLONG: "has a name in it that is too long (255 bytes at most)",
    errno.EACCES: "may not be opened: permission denied",
    errno.EPERM: "may not be changed: permission denied",
    errno.ENXIO: "is not a regular file",
    errno.EROFS: "is on a read-only file system",
    errno.ENOSPC: "could not be written: the disk is full",
    errno.EDQUOT: "could not be written: the disk quota is used up",
}


class WorkspaceError(Exception):
    """The workspace cannot take a path or a file; the message is a sentence about it."""


@dataclass(frozen=True)
class Content:
    path: str
    data: bytes
    size: int
    stamp: tuple[int, ...]

    def text(self) -> str:
        """The whole file as text; raises WorkspaceError if it is too large, binary or not UTF-8."""
        if self.size > FILE_LIMIT:
            raise WorkspaceError(
                f"{self.path} has {self.size / 2**20:.1f} MiB, and the file tools take 2 MiB at most; "
                "look at a part of it with a command such as head, tail, sed -n or grep."
            )
        if b"\0" in self.data:
            raise WorkspaceError(f"{self.path} is a binary file ({self.size} bytes), not text.")
        try:
            return self.data.decode()
        except UnicodeDecodeError:
            raise WorkspaceError(f"{self.path} is not UTF-8 text ({self.size} bytes).") from None


@dataclass(frozen=True)
class Folder:
    path: str
    names: list[str]


class Workspace:
    """A directory; all access to its files goes through this class.

    Paths are relative, or absolute beneath /workspace; the kernel keeps them beneath the directory, despite
    symbolic links. As root, files are accessed as the directory's owner. All methods block and raise
    WorkspaceError with a sentence.
    """

    def __init__(self, path: Path | str, quota: Quota | None = None, *, fixed: bool = False) -> None:
        """With `quota`, writes that would exceed it are refused. `fixed`: no part of the (absolute) path may
        be a symbolic link, so that nobody who can write next to the directory can redirect it."""
        self.path = Path(path)
        self.quota = quota
        self.fixed = fixed

    @classmethod
    def create(cls, path: Path | str, quota: Quota | None = None) -> Workspace:
        """Make the directory (mode 0700) and its parents if missing.

        As root, a directory of root's and its content are given to the sandbox's user; use `Workspace(path)`
        for a directory whose owner must not change.
        """
        folder = Path(path)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            give_to_sandbox_user(descriptor)
        finally:
            os.close(descriptor)
        return cls(folder, quota)

    def look(self, path: str, max_bytes: int = FILE_LIMIT) -> Content | Folder:
        """The names in a folder, or a file's content, of which at most `max_bytes` + 1 bytes are read."""
        name = relative(path)
        with self.as_owner() as root, readable_errors(path):
            descriptor = open_beneath(root, name, _READ)
            try:
                if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                    return Folder(name, _listing(descriptor))
                return _content(descriptor, name, max_bytes)
            finally:
                os.close(descriptor)

    def read(self, path: str, max_bytes: int = FILE_LIMIT) -> Content:
        content = self.look(path, max_bytes)
        if isinstance(content, Folder):
            raise WorkspaceError(f"{path} is a folder.")
        return content

    def has_file(self, path: str) -> bool:
        """Whether there is a regular file there; raises nothing."""
        try:
            with self.as_owner() as root, readable_errors(path):
                descriptor = open_beneath(root, relative(path), os.O_PATH)
        except WorkspaceError:
            return False
        try:
            return stat.S_ISREG(os.fstat(descriptor).st_mode)
        finally:
            os.close(descriptor)

    def write(self, path: str, data: bytes, expected: Content | None = None) -> Content | None:
        """Write a whole file atomically; returns the previous content, None if there was none.

        Creates parent folders, never writes through symbolic links, keeps the mode of an existing file.
        Raises WorkspaceError if the file has changed since `expected`.
        """
        if len(data) > FILE_LIMIT:
            raise WorkspaceError(
                f"{path} would have {len(data) / 2**20:.1f} MiB; the file tools take 2 MiB at most."
            )
        parent, name = posixpath.split(relative(path))
        if name in ("", "."):
            raise WorkspaceError(f"{path} is the workspace itself, not a file.")
        with self.as_owner() as root, readable_errors(path):
            self.check_room(root, len(data), new=1)
            folder = open_folder(root, parent, make=True)
            try:
                return _replace(folder, name, data, expected)
            finally:
                os.close(folder)

    @contextmanager
    def open_root(self) -> Iterator[int]:
        try:
            root = self._open()
        except OSError as error:
            raise WorkspaceError(f"The workspace folder cannot be opened: {error.strerror}.") from error
        try:
            yield root
        finally:
            os.close(root)

    def quota_excess(self) -> str:
        with self.open_root() as root:
            return self.quota.refusal(root) if self.quota else ""

    def check_room(self, root: int, size: int, new: int) -> None:
        refusal = self.quota.refusal(root, size, new) if self.quota else ""
        if refusal:
            raise WorkspaceError(refusal)

    def _open(self) -> int:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        if not self.fixed:
            return os.open(self.path, flags)
        top = os.open("/", flags)
        try:
            return walk_open(top, str(self.path), flags)
        finally:
            os.close(top)

    @contextmanager
    def as_owner(self) -> Iterator[int]:
        """A descriptor of the directory, used with its owner's rights. The block must not await or yield."""
        with self.open_root() as root, acting_as(os.fstat(root)):
            yield root


def relative(path: str) -> str:
    """Normalise `path` relative to the workspace ("." is the workspace itself); raises WorkspaceError."""
    if not path.strip():
        raise WorkspaceError("The path is empty.")
    if "\0" in path:
        raise WorkspaceError("The path contains a NUL character.")
    try:
        length = len(path.encode())
    except UnicodeEncodeError:
        raise WorkspaceError("The path contains characters that cannot be written as UTF-8.") from None
    if length > _PATH_LIMIT:
        raise WorkspaceError(f"The path is {length} bytes long; {_PATH_LIMIT} is the limit.")
    name = posixpath.normpath(path)
    if name.startswith("/"):
        name = posixpath.relpath(name.replace("//", "/", 1), MOUNT)
    if name == ".." or name.startswith("../"):
        raise WorkspaceError(
            f"{path} is outside the workspace; paths are relative to it or begin with {MOUNT}/."
        )
    return name


@contextmanager
def readable_errors(path: str) -> Iterator[None]:
    """Turn OSErrors about `path` into WorkspaceErrors with a sentence."""
    try:
        yield
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, f"cannot be used: {error.strerror}")
        shown = path if len(path) <= 200 else path[:200] + "..."
        raise WorkspaceError(f"{shown} {reason}.") from error


def _content(descriptor: int, name: str, max_bytes: int = FILE_LIMIT) -> Content:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.ENXIO, os.strerror(errno.ENXIO))
    with open(descriptor, "rb", closefd=False) as file:
        data = file.read(max_bytes + 1)
    return Content(name, data, max(status.st_size, len(data)), _stamp(status))


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_mode,
    )


def _listing(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        names = [entry.name + ("/" if entry.is_dir(follow_symlinks=False) else "") for entry in entries]
    return sorted("".join(c if c.isprintable() else "\ufffd" for c in name) for name in names)


def _replace(folder: int, name: str, data: bytes, expected: Content | None) -> Content | None:
    before = _current(folder, name)
    temporary = f".{secrets.token_hex(8)}.tmp"
    try:
        _write_new(folder, temporary, data, before)
        if expected and _stamp_of(folder, name) != expected.stamp:
            raise WorkspaceError(f"{expected.path} was changed by something else meanwhile; read it again.")
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
        raise
    return before


def _current(folder: int, name: str) -> Content | None:
    try:
        descriptor = os.open(name, _READ | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return None
    try:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        return _content(descriptor, name)
    finally:
        os.close(descriptor)


def _write_new(folder: int, name: str, data: bytes, before: Content | None) -> None:
    descriptor = os.open(name, _CREATE, 0o666, dir_fd=folder)
    with open(descriptor, "wb") as file:
        file.write(data)
        if before:
            os.fchmod(descriptor, before.stamp[-1] & 0o777)  # never setuid
        file.flush()
        os.fsync(descriptor)


def _stamp_of(folder: int, name: str) -> tuple[int, ...]:
    try:
        return _stamp(os.stat(name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        return ()


@dataclass(frozen=True)
class Quota:
    size: int = 500 * 1024 * 1024
    files: int = 20_000

    def refusal(self, folder: int, size: int = 0, new: int = 0) -> str:
        """Why `size` more bytes in `new` more files do not fit into the folder (a descriptor), or ""."""
        # Imported here to break an import cycle: the sandbox imports this module.
        from chat.agent.sandbox.limits import disk_usage

        used = disk_usage(folder)
        if used.size + size > self.size:
            more = f"; {size / 2**20:.1f} MiB more do not fit" if size else ""
            return (
                f"The workspace holds {used.size / 2**20:.1f} MiB and may hold {self.size / 2**20:g}{more}. "
                "Delete what is not needed."
            )
        if used.files + new > self.files:
            return (
                f"The workspace holds {used.files} files and folders and may hold {self.files}. "
                "Delete what is not needed."
            )
        return ""
