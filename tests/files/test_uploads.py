"""Uploads: all or none, safe names, within the limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from chat.agent.workspace import Quota, Workspace, WorkspaceError
from chat.files.uploads import MAX_FILES, UploadRefused, save_uploads, with_file_names


def uploads(*names: str, content: bytes = b"text") -> Any:
    made = [SimpleUploadedFile("x", content) for _name in names]
    for upload, name in zip(made, names, strict=True):
        upload._name = name  # as a client sends it, which Django's own setter would mend
    return made


def held(workspace: Workspace) -> list[str]:
    return sorted(path.name for path in (workspace.path / "uploads").glob("*"))


def test_they_are_there_under_the_names_that_are_told(workspace: Workspace) -> None:
    assert save_uploads(workspace, uploads("a.txt", "文件.csv")) == ["uploads/a.txt", "uploads/文件.csv"]
    assert workspace.read("uploads/a.txt").data == b"text"


def test_nothing_that_is_there_is_replaced(workspace: Workspace) -> None:
    workspace.write("uploads/a.txt", b"before")
    (workspace.path / "uploads" / "a-2.txt").symlink_to("/etc/passwd")
    assert save_uploads(workspace, uploads("a.txt", "a.txt")) == ["uploads/a-3.txt", "uploads/a-4.txt"]
    assert workspace.read("uploads/a.txt").data == b"before"


def test_hostile_names_end_in_the_folder(workspace: Workspace, tmp_path: Path) -> None:
    before = {path for path in tmp_path.rglob("*") if not path.is_relative_to(workspace.path)}
    names = [
        "../../up",
        "/etc/cron.d/x",
        "..",
        "",
        "a\0b",
        ".bashrc",
        "-rf",
        "x" * 1000,
        "\u202egpj.exe",
        "CON",
    ]
    assert len(save_uploads(workspace, uploads(*names))) == len(names)
    assert held(workspace) == sorted(
        ["up", "x", "file", "file-2", "ab", "bashrc", "rf", f"{'x' * 137}…{'x' * 60}", "gpj.exe", "_CON"]
    )
    assert {path for path in tmp_path.rglob("*") if not path.is_relative_to(workspace.path)} == before


def test_a_link_in_the_folders_place_is_not_followed(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (workspace.path / "uploads").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WorkspaceError, match="symbolic link"):
        save_uploads(workspace, uploads("a"))
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_too_many_are_refused(workspace: Workspace) -> None:
    with pytest.raises(UploadRefused, match="up to 20 files"):
        save_uploads(workspace, uploads(*"x" * (MAX_FILES + 1)))
    assert held(workspace) == []


def test_too_large_ones_are_refused(workspace: Workspace, settings: Any) -> None:
    settings.MAX_UPLOAD_BYTES = 1024
    with pytest.raises(UploadRefused, match=r"up to 1\.0\s*KB at once"):
        save_uploads(workspace, uploads("a", "b", content=b"x" * 600))
    assert held(workspace) == []


def test_there_must_be_room(tmp_path: Path) -> None:
    full = Workspace.create(tmp_path / "full", Quota(size=100_000, files=10))
    with pytest.raises(WorkspaceError, match="do not fit"):
        save_uploads(full, uploads("a", content=b"x" * 200_000))
    with pytest.raises(WorkspaceError, match="may hold 10"):
        save_uploads(full, uploads(*"x" * 10))
    assert held(full) == []


def test_where_one_fails_none_is_kept(workspace: Workspace) -> None:
    class Broken(SimpleUploadedFile):
        def chunks(self, chunk_size: int | None = None) -> Any:
            yield b"half of it"
            raise OSError(28, "No space left on device")

    with pytest.raises(WorkspaceError, match="the disk is full"):
        save_uploads(workspace, [*uploads("a"), Broken("b", b"x")])
    assert held(workspace) == []


def test_a_message_names_them() -> None:
    assert (
        with_file_names(" Look ", ["uploads/a", "uploads/b"])
        == "Look\n\nUploaded: uploads/a\nUploaded: uploads/b"
    )
    assert with_file_names("", ["uploads/a"]) == "Uploaded: uploads/a"
