"""Renaming and deleting single files: only files of the workspace, overwriting nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from chat.agent.workspace import Workspace, WorkspaceError
from chat.files.file_changes import delete_file, rename_file


@pytest.fixture
def folder(workspace: Workspace) -> Path:
    """A workspace's folder with files, a link out of it and a folder."""
    workspace.write("a.txt", b"a")
    workspace.write("b.txt", b"b")
    workspace.write("src/c.py", b"c")
    outside = workspace.path.parent / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    (workspace.path / "link").symlink_to(outside / "kept")
    (workspace.path / "way-out").symlink_to(outside)
    return workspace.path


def test_a_file_gets_another_name_in_its_folder(workspace: Workspace, folder: Path) -> None:
    assert rename_file(workspace, "src/c.py", ".hidden 文件.py") == "src/.hidden 文件.py"
    assert (folder / "src" / ".hidden 文件.py").read_text() == "c"
    assert not (folder / "src" / "c.py").exists()
    assert rename_file(workspace, "a.txt", "a.txt") == "a.txt"
    assert (folder / "a.txt").read_text() == "a"


def test_no_file_is_overwritten(workspace: Workspace, folder: Path) -> None:
    for taken in ("b.txt", "src", "link"):
        with pytest.raises(WorkspaceError, match=f"^{taken} already exists"):
            rename_file(workspace, "a.txt", taken)
    assert (folder / "a.txt").read_text() == "a"
    assert (folder / "b.txt").read_text() == "b"


@pytest.mark.parametrize(
    "name", ["", " ", ".", "..", "src/a.txt", "../a.txt", "/tmp/a", "a\nb", "a\0b", "\u202eb"]
)
def test_a_name_is_only_a_name(workspace: Workspace, folder: Path, name: str) -> None:
    with pytest.raises(WorkspaceError, match=r"^A name cannot"):
        rename_file(workspace, "a.txt", name)
    assert (folder / "a.txt").exists()


def test_a_name_that_is_too_long_is_refused(workspace: Workspace, folder: Path) -> None:
    with pytest.raises(WorkspaceError, match="too long"):
        rename_file(workspace, "a.txt", "长" * 100)
    assert (folder / "a.txt").exists()


@pytest.mark.parametrize(
    "path", ["", ".", "src", "link", "way-out/kept", "../outside/kept", "missing", "missing/a", "a.txt/b"]
)
def test_anything_but_a_file_of_the_workspace_is_refused(
    workspace: Workspace, folder: Path, path: str
) -> None:
    with pytest.raises(WorkspaceError):
        delete_file(workspace, path)
    with pytest.raises(WorkspaceError):
        rename_file(workspace, path, "new")
    assert (folder.parent / "outside" / "kept").read_text() == "kept"
    assert sorted(each.name for each in folder.iterdir()) == ["a.txt", "b.txt", "link", "src", "way-out"]


def test_a_file_is_deleted(workspace: Workspace, folder: Path) -> None:
    delete_file(workspace, "/workspace/src/c.py")
    assert list((folder / "src").iterdir()) == []
