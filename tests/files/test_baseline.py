"""Changes of a workspace since its baseline."""

from __future__ import annotations

import os
import shutil
import uuid
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from chat.agent.scan import scan_workspace
from chat.agent.workspace import Workspace
from chat.files.baseline import (
    MAX_FILE_BYTES,
    Baseline,
    Change,
    baseline_of,
    baseline_path,
    changes,
    keep_baseline,
    remove_baseline,
)

Since = Callable[[], dict[str, Change]]


@pytest.fixture
def filled(workspace: Workspace) -> Path:
    """The workspace's folder, with files that were there before the conversation."""
    for name in ("a.txt", "folder/b.txt", "folder/c.txt", ".git/index", "node_modules/m/index.js"):
        workspace.write(name, f"this is {name}\n".encode())
    workspace.write("large", b"x" * (MAX_FILE_BYTES + 1))
    return workspace.path


def test_nothing_has_changed_at_first(filled: Path, changed: Since) -> None:
    assert changed() == {}


def test_what_commands_do_is_seen(filled: Path, changed: Since) -> None:
    (filled / "a.txt").write_text("other\n")
    (filled / "new").write_text("new\n")
    (filled / "large").write_text("small")
    shutil.rmtree(filled / "folder")
    assert changed() == {
        "a.txt": "changed",
        "new": "new",
        "large": "changed",
        "folder/b.txt": "deleted",
        "folder/c.txt": "deleted",
    }


def test_a_touched_file_is_as_it_was(filled: Path, changed: Since) -> None:
    text = (filled / "a.txt").read_text()
    (filled / "a.txt").unlink()
    (filled / "a.txt").write_text(text)
    os.utime(filled / "folder" / "b.txt", (1, 1))
    (filled / "folder" / "c.txt").chmod(0o600)
    assert changed() == {}


def test_a_change_that_hides_behind_old_times_is_found(filled: Path, changed: Since) -> None:
    before = (filled / "a.txt").stat()
    (filled / "a.txt").write_text("THIS IS a.txt\n")
    os.utime(filled / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (filled / "a.txt").stat().st_size == before.st_size
    assert changed() == {"a.txt": "changed"}


def test_a_moved_file_is_gone_there_and_new_here(filled: Path, changed: Since) -> None:
    (filled / "a.txt").rename(filled / "z.txt")
    assert changed() == {"a.txt": "deleted", "z.txt": "new"}


def test_a_link_in_a_files_place_is_a_change(filled: Path, changed: Since) -> None:
    (filled / "a.txt").unlink()
    (filled / "a.txt").symlink_to("/etc/passwd")
    assert changed() == {"a.txt": "changed"}


def test_what_tools_make_by_the_thousand_is_not_looked_at(filled: Path, changed: Since) -> None:
    (filled / ".git" / "index").write_text("other")
    (filled / "node_modules" / "more.js").write_text("more")
    assert changed() == {}


def test_only_what_lies_beneath_the_folder_is_told(workspace: Workspace, filled: Path) -> None:
    pk = uuid.uuid4()
    keep_baseline(pk, workspace)
    (filled / "a.txt").unlink()
    (filled / "folder" / "b.txt").unlink()
    assert changes(workspace, baseline_of(pk), scan_workspace(workspace, "folder")) == {
        "folder/b.txt": "deleted"
    }


def test_the_start_is_kept_once_with_what_small_files_held(workspace: Workspace, filled: Path) -> None:
    pk = uuid.uuid4()
    keep_baseline(pk, workspace)
    (filled / "a.txt").write_text("later")
    keep_baseline(pk, workspace)
    start = baseline_of(pk)
    assert start.content("a.txt") == b"this is a.txt\n"
    assert start.content("large") is None
    assert start.content("nothing") is None
    assert baseline_path(pk).stat().st_mode & 0o077 == 0
    remove_baseline(pk)
    assert not baseline_of(pk).known
    assert changes(workspace, baseline_of(pk), scan_workspace(workspace)) == {}, (
        "without a record nothing is claimed"
    )


def test_what_was_added_later_counts_from_then_on(workspace: Workspace, filled: Path) -> None:
    pk = uuid.uuid4()
    keep_baseline(pk, workspace)
    for name in ("up/one", "up/two", "up/other"):
        workspace.write(name, f"this is {name}\n".encode())
    baseline_of(pk).add(workspace, ["up/one", "up/two"])
    (filled / "up" / "two").write_text("other\n")
    start = baseline_of(pk)
    assert changes(workspace, start, scan_workspace(workspace)) == {"up/two": "changed", "up/other": "new"}
    assert [start.content(name) for name in ("a.txt", "up/one", "up/two")] == [
        b"this is a.txt\n", b"this is up/one\n", b"this is up/two\n",
    ]  # fmt: skip
    assert baseline_path(pk).stat().st_mode & 0o077 == 0
    assert [path.name for path in baseline_path(pk).parent.iterdir()] == [f"{pk}.zip"]


def test_it_follows_a_file_to_its_new_name(workspace: Workspace, filled: Path) -> None:
    pk = uuid.uuid4()
    keep_baseline(pk, workspace)
    (filled / "made").write_text("since\n")
    for old, new in (("a.txt", "b.txt"), ("large", "big"), ("made", "made up")):
        (filled / old).rename(filled / new)
        baseline_of(pk).rename(old, new)
    (filled / "b.txt").write_text("other\n")
    start = baseline_of(pk)
    assert changes(workspace, start, scan_workspace(workspace)) == {"b.txt": "changed", "made up": "new"}
    assert start.content("b.txt") == b"this is a.txt\n"


def test_it_forgets_a_file_with_its_content(workspace: Workspace, filled: Path) -> None:
    pk = uuid.uuid4()
    keep_baseline(pk, workspace)
    baseline_of(pk).rename("folder/b.txt", "folder/d.txt")
    for name in ("a.txt", "large", "unknown"):
        (filled / name).unlink(missing_ok=True)
        baseline_of(pk).remove(name)
    start = baseline_of(pk)
    (filled / "folder" / "b.txt").rename(filled / "folder" / "d.txt")
    assert changes(workspace, start, scan_workspace(workspace)) == {}
    assert (start.content("a.txt"), start.content("folder/d.txt")) == (None, b"this is folder/b.txt\n")
    with zipfile.ZipFile(baseline_path(pk)) as record:
        assert not any(b"this is a.txt" in record.read(each) for each in record.infolist())


def test_no_more_is_kept_than_there_is_room_for(
    workspace: Workspace, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pk = uuid.uuid4()
    keep_baseline(pk, workspace)
    monkeypatch.setattr("chat.files.baseline.MAX_TOTAL_BYTES", 1500)
    for name in ("up/1", "up/2"):
        workspace.write(name, b"x" * 500)
        baseline_of(pk).add(workspace, [name])
    assert [baseline_of(pk).content(name) is not None for name in ("up/1", "up/2")] == [True, False]
    (filled / "up" / "2").write_text("other\n")
    assert changes(workspace, baseline_of(pk), scan_workspace(workspace)) == {"up/2": "changed"}


def test_a_damaged_record_is_no_record(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "damaged").write_bytes(b"PK\x03\x04 no zip file")
    assert not Baseline(tmp_path / "damaged").known


def test_names_that_are_no_utf8_are_recorded_too(workspace: Workspace, changed: Since) -> None:
    with open(os.fsencode(workspace.path) + b"/caf\xe9", "w"):
        pass
    pk = uuid.uuid4()
    keep_baseline(pk, workspace)
    assert changes(workspace, baseline_of(pk), scan_workspace(workspace)) == {}
    assert list(changed().values()) == ["new"]


def test_beyond_the_bound_nothing_is_claimed_as_new_or_deleted(workspace: Workspace) -> None:
    for number in range(30):
        workspace.write(f"file-{number}", b"")
    pk = uuid.uuid4()
    keep_baseline(pk, workspace)
    (workspace.path / "file-0").write_text("changed")
    found = scan_workspace(workspace, max_entries=10)
    assert len(found.entries) == 10
    assert not found.whole
    assert "deleted" not in changes(workspace, baseline_of(pk), found).values()
