"""The whole workspace as a zip file."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest

from chat.agent.workspace import Workspace, WorkspaceError
from chat.files import archive as module
from chat.files.archive import NOTE_NAME, archive


def packed(workspace: Workspace) -> zipfile.ZipFile:
    made = zipfile.ZipFile(io.BytesIO(b"".join(archive(workspace))))
    assert made.testzip() is None
    return made


def test_every_file_is_in_it(workspace: Workspace) -> None:
    workspace.write("a.txt", b"one")
    workspace.write("深/b.bin", os.urandom(200_000))
    (workspace.path / "empty").mkdir()
    made = packed(workspace)
    assert set(made.namelist()) == {"a.txt", "深/", "深/b.bin", "empty/"}
    assert made.read("深/b.bin") == workspace.read("深/b.bin").data


def test_an_empty_workspace_is_an_empty_file(workspace: Workspace) -> None:
    assert packed(workspace).namelist() == []


def test_what_cannot_go_into_it_is_named(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (workspace.path / "link").symlink_to(tmp_path / "secret")
    (workspace.path / "folder").symlink_to(tmp_path)
    os.mkfifo(workspace.path / "pipe")
    with open(os.fsencode(workspace.path) + b"/caf\xe9", "w"):
        pass
    made = packed(workspace)
    assert made.namelist() == [NOTE_NAME]
    assert made.read(NOTE_NAME).decode().splitlines() == ["caf\ufffd", "folder", "link", "pipe"]


def test_what_tools_made_by_the_thousand_is_named_and_left_out(workspace: Workspace) -> None:
    workspace.write("node_modules/x/index.js", b"")
    made = packed(workspace)
    assert (made.namelist(), made.read(NOTE_NAME)) == ([NOTE_NAME], b"node_modules/\n")


def test_it_has_a_bound(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 100)
    workspace.write("a", b"x" * 80)
    workspace.write("b", b"x" * 80)
    workspace.write("c", b"x" * 20)
    made = packed(workspace)
    assert (made.namelist(), made.read(NOTE_NAME)) == (["a", "c", NOTE_NAME], b"b\n")


def test_a_file_that_grows_meanwhile_is_packed_as_it_was_listed(workspace: Workspace) -> None:
    for name in ("a", "b"):
        (workspace.path / name).write_bytes(os.urandom(300_000))
    pieces = archive(workspace)
    first = next(pieces)
    with (workspace.path / "b").open("ab") as file:
        file.write(b"more")
    made = zipfile.ZipFile(io.BytesIO(first + b"".join(pieces)))
    assert made.getinfo("b").file_size == 300_000


def test_times_that_no_zip_file_knows(workspace: Workspace) -> None:
    for name, when in (("old", 0), ("future", 2**36)):
        workspace.write(name, b"")
        os.utime(workspace.path / name, (when, when))
    assert {info.date_time[0] for info in packed(workspace).infolist()} == {1980}


def test_without_a_workspace_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError):
        next(archive(Workspace(tmp_path / "nothing")))
