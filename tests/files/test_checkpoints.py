"""Each version of a turn has its own files."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from pathlib import Path

import pytest

from chat.agent.workspace import Workspace
from chat.files import checkpoints
from chat.files.checkpoints import MAX_FILE_BYTES, Checkpoints, checkpoints_path, remove_checkpoints

FIRST, SECOND, THIRD, AGAIN, NEXT = 10, 20, 30, 40, 50


@pytest.fixture
def conversation_id() -> uuid.UUID:
    return uuid.uuid4()


@pytest.fixture
def stored(workspace: Workspace, conversation_id: uuid.UUID) -> Checkpoints:
    return Checkpoints(conversation_id, workspace)


@pytest.fixture
def folder(workspace: Workspace) -> Path:
    return workspace.path


def make(folder: Path) -> None:
    """Make a folder that belongs to the owner of the one around it, as a tool does."""
    folder.mkdir()
    above = folder.parent.stat()
    os.chown(folder, above.st_uid, above.st_gid)


def files(folder: Path) -> dict[str, str]:
    """Every file and folder by its path, with what is in it."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_symlink():
            found[str(path.relative_to(folder))] = f"-> {os.readlink(path)}"
        else:
            found[str(path.relative_to(folder))] = path.read_text() if path.is_file() else "/"
    return found


def three_turns(stored: Checkpoints, folder: Path) -> dict[str, str]:
    """Turns that each change something; returns what there was before the second."""
    stored.begin(FIRST, None, [FIRST])
    (folder / "kept").write_text("kept")
    (folder / "changed").write_text("by the first")
    make(folder / "sub")
    (folder / "sub" / "gone").write_text("gone")
    stored.begin(SECOND, FIRST, [SECOND])
    before = files(folder)
    (folder / "changed").write_text("by the second")
    shutil.rmtree(folder / "sub")
    make(folder / "new")
    (folder / "new" / "file").write_text("new")
    stored.begin(THIRD, SECOND, [THIRD])
    (folder / "third").write_text("third")
    return before


def test_another_version_begins_with_the_files_of_the_first(stored: Checkpoints, folder: Path) -> None:
    before = three_turns(stored, folder)
    left = files(folder)
    stored.begin(AGAIN, FIRST, [SECOND, AGAIN])
    assert files(folder) == before
    (folder / "again").write_text("again")
    stored.begin(AGAIN, FIRST, [SECOND, AGAIN])
    assert files(folder) == {**before, "again": "again"}, "a turn that is taken up again keeps its files"
    stored.show(lambda: THIRD)
    assert files(folder) == left
    stored.show(lambda: AGAIN)
    assert files(folder) == {**before, "again": "again"}


def test_work_goes_on_in_each_version(stored: Checkpoints, folder: Path) -> None:
    three_turns(stored, folder)
    stored.begin(AGAIN, FIRST, [SECOND, AGAIN])
    stored.show(lambda: THIRD)
    (folder / "more").write_text("more")
    stored.begin(NEXT, THIRD, [NEXT])
    (folder / "more").write_text("and more")
    left = files(folder)
    stored.show(lambda: AGAIN)
    assert "more" not in files(folder)
    stored.show(lambda: NEXT)
    assert files(folder) == left


def test_files_of_a_turn_that_works_are_left_alone(stored: Checkpoints, folder: Path) -> None:
    """Its worker has put them there; whoever showed another version just before comes too late."""
    before = three_turns(stored, folder)
    stored.begin(AGAIN, FIRST, [SECOND, AGAIN])
    stored.show(lambda: None)
    assert files(folder) == before


def test_a_version_that_never_began_is_not_in_the_way(stored: Checkpoints, folder: Path) -> None:
    """It was stopped while it was queued, and a message followed it."""
    three_turns(stored, folder)
    left = files(folder)
    stored.begin(NEXT, AGAIN, [NEXT])
    (folder / "third").write_text("changed")
    stored.show(lambda: THIRD)
    assert files(folder) == left


def test_modes_times_links_and_odd_names_come_back(stored: Checkpoints, folder: Path) -> None:
    script, odd = folder / "run.sh", folder / os.fsdecode(b"\xff name\n")
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    os.utime(script, (1_000_000_000, 1_000_000_000))
    odd.write_text("odd")
    (folder / "link").symlink_to("../elsewhere")
    make(folder / "empty")
    stored.begin(FIRST, None, [FIRST])
    before = files(folder)
    for path in (script, odd, folder / "link"):
        path.unlink()
    (folder / "empty").rmdir()
    make(script)
    stored.begin(AGAIN, None, [FIRST, AGAIN])
    assert files(folder) == before
    assert script.stat().st_mode & 0o777 == 0o755
    assert script.stat().st_mtime == 1_000_000_000


def test_what_is_not_stored_stays(stored: Checkpoints, folder: Path) -> None:
    large = folder / "large"
    large.write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    stored.begin(FIRST, None, [FIRST])
    make(folder / ".git")
    (folder / ".git" / "config").write_text("[core]")
    (folder / "larger").write_bytes(b"y" * (MAX_FILE_BYTES + 1))
    make(folder / "with")
    (folder / "with" / "both").write_bytes(b"z" * (MAX_FILE_BYTES + 1))
    large.write_text("small")
    now = files(folder)
    stored.begin(AGAIN, None, [FIRST, AGAIN])
    assert files(folder) == now


def test_what_the_user_adds_is_in_all_versions(stored: Checkpoints, folder: Path) -> None:
    before = three_turns(stored, folder)
    make(folder / "uploads")
    (folder / "uploads" / "data").write_text("data")
    (folder / "uploads" / "large").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    stored.add(["uploads/data", "uploads/large"])
    (folder / "uploads" / "data").write_text("changed by the agent")
    left = files(folder)
    stored.begin(AGAIN, FIRST, [SECOND, AGAIN])
    assert files(folder).keys() == {*before, "uploads", "uploads/data", "uploads/large"}
    assert (folder / "uploads" / "data").read_text() == "data"
    stored.show(lambda: THIRD)
    assert files(folder) == left


def test_what_a_version_begins_with_is_known(stored: Checkpoints, folder: Path) -> None:
    assert stored.paths_before(SECOND) is None
    three_turns(stored, folder)
    assert stored.paths_before(FIRST) == set()
    assert stored.paths_before(SECOND) == {"kept", "changed", "sub/gone"}
    assert stored.paths_before(AGAIN) is None


def test_a_file_is_found_in_what_was_left(stored: Checkpoints, folder: Path) -> None:
    assert stored.turn_with("third", [THIRD]) is None
    three_turns(stored, folder)
    assert stored.turn_with("third", [THIRD]) is None
    stored.begin(AGAIN, FIRST, [SECOND, AGAIN])
    (folder / "again").write_text("again")
    stored.begin(NEXT, FIRST, [SECOND, AGAIN, NEXT])
    assert stored.turn_with("third", [AGAIN, THIRD]) == THIRD
    assert stored.turn_with("kept", [AGAIN, THIRD]) == AGAIN
    assert stored.turn_with("sub/gone", [THIRD]) == 0
    assert stored.turn_with("third", [NEXT, THIRD]) == THIRD
    assert stored.turn_with("again", [NEXT, THIRD]) is None


def test_what_the_user_renames_or_deletes_is_so_where_it_is_the_same(
    stored: Checkpoints, folder: Path
) -> None:
    three_turns(stored, folder)
    kept, changed = stored.digest_of("kept"), stored.digest_of("changed")
    (folder / "kept").unlink()
    stored.remove("kept", kept)
    (folder / "changed").rename(folder / "renamed")
    stored.rename("changed", "renamed", changed)
    stored.begin(AGAIN, FIRST, [SECOND, AGAIN])
    assert files(folder) == {"changed": "by the first", "sub": "/", "sub/gone": "gone"}
    contents = [path.read_bytes() for path in (stored.path / "objects").iterdir()]
    assert b"kept" not in contents, "what the user deletes leaves nothing behind"
    same = stored.digest_of("sub/gone")
    (folder / "sub" / "gone").rename(folder / "sub" / "found")
    stored.rename("sub/gone", "sub/found", same)
    stored.begin(NEXT, FIRST, [SECOND, NEXT])
    assert files(folder) == {"changed": "by the first", "sub": "/", "sub/found": "gone"}


def test_a_move_that_is_cut_off_is_completed(
    stored: Checkpoints, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = three_turns(stored, folder)
    left = files(folder)
    written = os.replace

    def cut(source: str, target: str, **where: int) -> None:
        if target == "changed":
            raise OSError(28, "No space left on device")
        written(source, target, **where)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints.os, "replace", cut)
        with pytest.raises(OSError, match="No space"):
            stored.begin(AGAIN, FIRST, [SECOND, AGAIN])
    stored.begin(AGAIN, FIRST, [SECOND, AGAIN])
    assert files(folder) == before
    stored.show(lambda: THIRD)
    assert files(folder) == left


LARGE = "x" * (MAX_FILE_BYTES + 1)


def test_a_file_that_is_not_stored_is_not_replaced(stored: Checkpoints, folder: Path) -> None:
    """Not by one of the same name, by a folder of it, or by a file in the place of its folder."""
    stored.begin(FIRST, None, [FIRST])
    for name in ("a", "b", "c"):
        (folder / name).write_text("small")
    stored.begin(SECOND, FIRST, [SECOND])
    (folder / "a").write_text(LARGE)
    left = files(folder)
    stored.begin(AGAIN, FIRST, [SECOND, AGAIN])
    assert files(folder) == left, "one cannot be put back, so all stay"
    (folder / "a").unlink()
    (folder / "b").unlink()
    make(folder / "b")
    (folder / "b" / "large").write_text(LARGE)
    left = files(folder)
    stored.begin(NEXT, FIRST, [SECOND, AGAIN, NEXT])
    assert files(folder) == left


def test_a_folder_gives_no_way_to_a_file_that_is_not_stored(stored: Checkpoints, folder: Path) -> None:
    stored.begin(FIRST, None, [FIRST])
    make(folder / "out")
    (folder / "out" / "x").write_text("precious")
    stored.begin(AGAIN, None, [FIRST, AGAIN])
    assert files(folder) == {}
    (folder / "out").write_text(LARGE)
    stored.show(lambda: FIRST)
    assert files(folder) == {"out": LARGE}
    (folder / "out").unlink()
    stored.show(lambda: FIRST)
    assert files(folder) == {"out": "/", "out/x": "precious"}


@pytest.mark.parametrize("mode", [0o000, 0o555])
def test_a_folder_that_is_closed_keeps_what_is_in_it(stored: Checkpoints, folder: Path, mode: int) -> None:
    make(folder / "d")
    (folder / "d" / "f").write_text("zero")
    stored.begin(FIRST, None, [FIRST])
    (folder / "d" / "f").write_text("one")
    (folder / "d").chmod(mode)
    stored.begin(AGAIN, None, [FIRST, AGAIN])
    (folder / "d").chmod(0o755)
    assert files(folder) == {"d": "/", "d/f": "one"}


def test_what_was_left_is_never_given_up(
    stored: Checkpoints, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "MAX_TOTAL_BYTES", 40_000)
    stored.begin(FIRST, None, [FIRST])
    (folder / "most").write_text("m" * 35_000)
    stored.begin(AGAIN, None, [FIRST, AGAIN])
    assert files(folder) == {}
    (folder / "other").write_text("o" * 30_000)
    stored.begin(NEXT, None, [FIRST, AGAIN, NEXT])
    stored.show(lambda: FIRST)
    assert files(folder)["most"] == "m" * 35_000
    assert files(folder)["other"] == "o" * 30_000, "there was no room to store it, so it stays"


def test_a_name_that_another_version_has_already_is_not_taken(stored: Checkpoints, folder: Path) -> None:
    stored.begin(FIRST, None, [FIRST])
    (folder / "a").write_text("same")
    (folder / "b").write_text("first's")
    stored.begin(AGAIN, None, [FIRST, AGAIN])
    (folder / "a").write_text("same")
    digest = stored.digest_of("a")
    (folder / "a").rename(folder / "b")
    stored.rename("a", "b", digest)
    stored.show(lambda: FIRST)
    assert files(folder) == {"a": "same", "b": "first's"}


def test_what_follows_a_version_that_never_began_has_the_files_of_that(
    stored: Checkpoints, folder: Path
) -> None:
    before = three_turns(stored, folder)
    stored.begin(NEXT, AGAIN, [SECOND, AGAIN])
    assert files(folder) == before


def test_of_a_deleted_version_nothing_is_left(stored: Checkpoints, folder: Path) -> None:
    before = three_turns(stored, folder)
    stored.begin(AGAIN, FIRST, [SECOND, AGAIN])
    (folder / "secret").write_text("secret")
    stored.show(lambda: THIRD)
    stored.forget([AGAIN])
    contents = [path.read_bytes() for path in (stored.path / "objects").iterdir()]
    assert b"secret" not in contents
    stored.begin(NEXT, FIRST, [SECOND, NEXT])
    assert files(folder) == before


def test_a_damaged_content_is_not_restored(stored: Checkpoints, folder: Path) -> None:
    three_turns(stored, folder)
    for path in (stored.path / "objects").iterdir():
        if path.read_bytes() == b"by the first":
            path.write_bytes(b"by th")
    stored.begin(AGAIN, FIRST, [SECOND, AGAIN])
    assert (folder / "changed").read_text() == "by the second"
    assert (folder / "sub" / "gone").read_text() == "gone"


def test_a_lost_tree_removes_nothing(stored: Checkpoints, folder: Path) -> None:
    three_turns(stored, folder)
    left = files(folder)
    index = json.loads((stored.path / "index.json").read_text())
    (stored.path / "objects" / index["before"][str(SECOND)]).unlink()
    stored.begin(AGAIN, FIRST, [SECOND, AGAIN])
    assert files(folder) == left
    cut_off = index | {"restoring": index["before"][str(SECOND)]}
    (stored.path / "index.json").write_text(json.dumps(cut_off))
    stored.begin(NEXT, THIRD, [NEXT])
    assert files(folder) == left


def test_the_oldest_give_way(stored: Checkpoints, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "MAX_TOTAL_BYTES", 40_000)
    monkeypatch.setattr(checkpoints, "MAX_TURNS", 6)
    for turn in range(1, 20):
        (folder / "file").write_bytes(os.urandom(4000))
        stored.begin(turn, turn - 1, [turn])
        assert sum(path.stat().st_size for path in (stored.path / "objects").iterdir()) <= 40_000
    kept = json.loads((stored.path / "index.json").read_text())["before"]
    assert list(map(int, kept)) == [14, 15, 16, 17, 18, 19]
    stored.begin(20, 0, [1, 20])
    assert len((folder / "file").read_bytes()) == 4000


def test_unchanged_files_are_not_read_again(
    stored: Checkpoints, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    three_turns(stored, folder)
    read: list[str] = []
    reading = Checkpoints._read
    monkeypatch.setattr(
        Checkpoints, "_read", lambda self, entry: read.append(entry.path) or reading(self, entry)
    )
    stored.begin(NEXT, THIRD, [NEXT])
    assert read == ["third"]


def test_nothing_is_left_of_a_deleted_conversation(
    stored: Checkpoints, folder: Path, conversation_id: uuid.UUID
) -> None:
    three_turns(stored, folder)
    assert checkpoints_path(conversation_id).stat().st_mode & 0o077 == 0
    remove_checkpoints(conversation_id)
    assert not checkpoints_path(conversation_id).exists()
