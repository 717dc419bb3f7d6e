"""Paths and files in the workspace, and that nothing leads out of it."""

from __future__ import annotations

import ctypes
import errno
import itertools
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from chat.agent.safe_open import has_openat2, open_beneath, walk_open
from chat.agent.workspace import FILE_LIMIT, Folder, Workspace, WorkspaceError, relative

SECRET = b"a secret of someone else"

OPENERS = [open_beneath, walk_open]


@pytest.fixture
def outside(workspace: Workspace) -> Path:
    """A file next to the workspace."""
    path = workspace.path.parent / "outside"
    path.mkdir()
    (path / "secret").write_bytes(SECRET)
    path.chmod(0o777)  # nothing but the way there protects it
    (path / "secret").chmod(0o666)
    return path


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a", "a"),
        ("./a//b/", "a/b"),
        ("a/../b", "b"),
        (".", "."),
        ("/workspace", "."),
        ("/workspace/", "."),
        ("/workspace/a/b", "a/b"),
        ("//workspace/a", "a"),
        ("a b\n", "a b\n"),
        ("名前.txt", "名前.txt"),
        ("-rf", "-rf"),
        ("~", "~"),
        ("a\\b", "a\\b"),
    ],
)
def test_a_path_beneath_the_workspace(path: str, name: str) -> None:
    assert relative(path) == name


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("..", "outside the workspace"),
        ("../x", "outside the workspace"),
        ("a/../../x", "outside the workspace"),
        ("/etc/passwd", "outside the workspace"),
        ("/workspace/../etc/passwd", "outside the workspace"),
        ("/workspaces/x", "outside the workspace"),
        ("/", "outside the workspace"),
        ("a\0b", "NUL"),
        ("\ud800", "UTF-8"),
        ("a/" * 3000, "6000 bytes long"),
    ],
)
def test_a_path_that_is_refused(workspace: Workspace, path: str, said: str) -> None:
    with pytest.raises(WorkspaceError, match=said):
        workspace.look(path)
    with pytest.raises(WorkspaceError, match=said):
        workspace.write(path, b"x")


def test_an_endless_name(workspace: Workspace) -> None:
    for act in (lambda: workspace.look("x" * 300), lambda: workspace.write("x" * 300, b"")):
        with pytest.raises(WorkspaceError, match=r"^x{200}\.\.\. has a name in it that is too long"):
            act()


@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.parametrize(
    "path",
    ["out", "out/secret", "direct", "up/outside/secret", "../outside/secret", "/etc/passwd", "proc", "chain"],
)
def test_no_link_leads_out(
    workspace: Workspace, outside: Path, path: str, opener: Callable[..., int]
) -> None:
    (workspace.path / "out").symlink_to(outside)
    (workspace.path / "direct").symlink_to(outside / "secret")
    (workspace.path / "up").symlink_to("..")
    (workspace.path / "chain").symlink_to("direct")
    (workspace.path / "proc").symlink_to("/proc/self/root/etc/passwd")
    with workspace.open_root() as root, pytest.raises(OSError) as caught:  # noqa: PT011 - the numbers follow
        os.close(opener(root, path.lstrip("/") if path.startswith("/etc") else path, os.O_RDONLY))
    assert caught.value.errno in (errno.EXDEV, errno.ELOOP, errno.ENOTDIR, errno.ENOENT)


def test_links_that_stay_inside_are_read_but_not_written(workspace: Workspace) -> None:
    workspace.write("folder/file", b"text")
    (workspace.path / "link").symlink_to("folder/file")
    (workspace.path / "linked").symlink_to("folder")
    assert workspace.read("link").data == workspace.read("linked/file").data == b"text"
    with pytest.raises(WorkspaceError, match="symbolic link"):
        workspace.write("link", b"new")
    with pytest.raises(WorkspaceError, match="symbolic link"):
        workspace.write("linked/file", b"new")
    assert workspace.read("folder/file").data == b"text"


def test_a_link_out_is_told(workspace: Workspace, outside: Path) -> None:
    (workspace.path / "out").symlink_to(outside)
    with pytest.raises(WorkspaceError, match="out/secret leads outside the workspace"):
        workspace.read("out/secret")


_AT_FDCWD, _EXCHANGE = -100, 2
_RACE = 10.0 if os.environ.get("SOAK") else 1.0  # seconds


def _tries() -> Iterator[int]:
    """Count up until the race's time is over."""
    until = time.monotonic() + _RACE
    return itertools.takewhile(lambda _number: time.monotonic() < until, itertools.count())


@contextmanager
def _swapping(workspace: Workspace, outside: Path) -> Iterator[None]:
    """Replace `d` by a folder of the workspace and by a link to one outside, in a tight loop."""
    over = threading.Event()
    workspace.write("d/secret", b"own")
    (workspace.path / "link").symlink_to(outside)
    one, other = bytes(workspace.path / "d"), bytes(workspace.path / "link")
    libc = ctypes.CDLL(None)

    def swap() -> None:
        while not over.is_set():
            assert libc.renameat2(_AT_FDCWD, one, _AT_FDCWD, other, _EXCHANGE) == 0

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("opener", OPENERS)
def test_no_race_of_links_is_won_reading(
    workspace: Workspace, outside: Path, opener: Callable[..., int]
) -> None:
    own = 0
    with _swapping(workspace, outside), workspace.open_root() as root:
        for _ in _tries():
            try:
                found = opener(root, "d/secret", os.O_RDONLY)
            except OSError:
                continue
            assert os.read(found, 100) == b"own"
            os.close(found)
            own += 1
    assert own


def test_no_race_of_links_is_won_writing(workspace: Workspace, outside: Path) -> None:
    written = 0
    with _swapping(workspace, outside):
        for _ in _tries():
            with suppress(WorkspaceError):
                workspace.write("d/secret", b"own")
                written += 1
    assert written
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == {"secret": SECRET}


def test_the_kernel_helps_here() -> None:
    assert has_openat2()


def test_what_is_no_regular_file_is_refused_without_waiting(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(workspace.path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(workspace.path)
        listening.bind("socket")
    for name in ("pipe", "socket"):
        with pytest.raises(WorkspaceError, match=f"{name} is not a regular file"):
            workspace.look(name)
        with pytest.raises(WorkspaceError, match=f"{name} is not a regular file"):
            workspace.write(name, b"")


def test_a_write_is_whole_and_leaves_nothing_else(workspace: Workspace) -> None:
    assert workspace.write("a/b/c", b"one") is None
    before = workspace.write("a/b/c", b"two")
    assert before
    assert before.data == b"one"
    assert os.listdir(workspace.path / "a" / "b") == ["c"]


def test_a_write_that_fails_leaves_the_old_file(workspace: Workspace) -> None:
    workspace.write("file", b"old")
    for path, said in (("file/x", "not a folder"), (".", "the workspace itself"), ("folder", "is a folder")):
        (workspace.path / "folder").mkdir(exist_ok=True)
        with pytest.raises(WorkspaceError, match=said):
            workspace.write(path, b"new")
    with pytest.raises(WorkspaceError, match="2 MiB at most"):
        workspace.write("file", b"x" * (FILE_LIMIT + 1))
    assert sorted(os.listdir(workspace.path)) == ["file", "folder"]
    assert (workspace.path / "file").read_bytes() == b"old"


def test_a_mode_is_kept_but_never_set_user(workspace: Workspace) -> None:
    workspace.write("run", b"old")
    (workspace.path / "run").chmod(0o4750)
    workspace.write("run", b"new")
    assert (workspace.path / "run").stat().st_mode & 0o7777 == 0o750


def test_a_reader_sees_the_old_or_the_new_file(workspace: Workspace) -> None:
    workspace.write("file", b"a" * 100_000)
    over = threading.Event()

    def write() -> None:
        for letter in b"bcdefghij":
            workspace.write("file", bytes([letter]) * 100_000)
        over.set()

    thread = threading.Thread(target=write)
    thread.start()
    while not over.is_set():
        data = workspace.read("file").data
        assert len(data) == 100_000
        assert len(set(data)) == 1
    thread.join()


@pytest.mark.parametrize("change", ["content", "same size", "replaced", "removed", "mode"])
def test_a_file_that_changed_is_not_replaced(workspace: Workspace, change: str) -> None:
    file = workspace.path / "file"
    workspace.write("file", b"old")
    before = workspace.read("file")
    match change:
        case "content":
            file.write_bytes(b"longer")
        case "same size":
            file.write_bytes(b"new")
        case "replaced":
            (workspace.path / "other").write_bytes(b"old")
            (workspace.path / "other").rename(file)
        case "removed":
            file.unlink()
        case "mode":
            file.chmod(0o600)
    after = file.read_bytes() if file.exists() else None
    with pytest.raises(WorkspaceError, match="changed by something else"):
        workspace.write("file", b"mine", expected=before)
    assert (file.read_bytes() if file.exists() else None) == after


def test_the_folder_itself(workspace: Workspace) -> None:
    assert workspace.look(".") == Folder(".", [])
    assert workspace.path.stat().st_mode & 0o777 == 0o700


def test_a_workspace_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="cannot be opened"):
        Workspace(tmp_path / "gone").look(".")
