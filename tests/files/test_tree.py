"""The tree on the page: bounded, whatever is in the workspace."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from chat.agent.removal import remove_folder
from chat.agent.scan import scan_workspace
from chat.agent.workspace import Workspace, WorkspaceError
from chat.files.baseline import Change
from chat.files.tree import MAX_DEPTH, MAX_OPEN, MAX_ROWS, Row, Tree, tree_of


def seen(workspace: Workspace, path: str = ".", **changes: Change) -> Tree:
    found = scan_workspace(workspace, path)
    return tree_of(found.path, found.entries, changes, whole=found.whole)


def rows(tree: Tree | Row) -> Iterator[Row]:
    for row in tree.rows:
        yield row
        yield from rows(row)


def test_folders_come_first_and_names_in_order(workspace: Workspace) -> None:
    for name in ("b 10.txt", "b 2.txt", "A.txt", "z/inner.txt", "c/d/e.txt"):
        workspace.write(name, b"")
    assert [row.path for row in rows(seen(workspace))] == [
        "c",
        "c/d",
        "c/d/e.txt",
        "z",
        "z/inner.txt",
        "A.txt",
        "b 2.txt",
        "b 10.txt",
    ]
    assert [row.path for row in rows(seen(workspace, "c"))] == ["c/d", "c/d/e.txt"]


def test_many_files_are_counted_and_not_all_drawn(workspace: Workspace) -> None:
    for number in range(MAX_ROWS + 50):
        (workspace.path / f"{number}").touch()
    tree = seen(workspace)
    assert len(list(rows(tree))) == MAX_ROWS
    assert tree.unshown == 50


def test_a_crowded_folder_stays_closed_until_it_is_asked_for(workspace: Workspace) -> None:
    workspace.write("node_modules/x/index.js", b"")
    (only,) = rows(seen(workspace))
    assert (only.path, only.closed) == ("node_modules", True)
    assert [row.path for row in rows(seen(workspace, "node_modules"))][-1] == "node_modules/x/index.js"


def test_folders_of_changes_and_of_uploads_are_unfolded(workspace: Workspace) -> None:
    for name in ("as/it/was", "one/more/new", "uploads/a", *(f"many/{each}" for each in range(MAX_OPEN))):
        workspace.write(name, b"")
    many: dict[str, Change] = {f"many/{each}": "new" for each in range(MAX_OPEN)}
    tree = seen(workspace, **{"one/more/new": "new"}, **many)
    folders = {row.path: row.is_unfolded for row in rows(tree) if row.kind == "folder"}
    assert [path for path, unfolded in folders.items() if unfolded] == ["one", "one/more", "uploads"]


def test_an_empty_folder_for_uploads_is_left_out(workspace: Workspace) -> None:
    for folder in ("uploads", "mine", "more/uploads"):
        (workspace.path / folder).mkdir(parents=True)
    assert [row.path for row in rows(seen(workspace))] == ["mine", "more", "more/uploads"]
    left = rows(seen(workspace, **{"uploads/a": "deleted"}))
    assert [row.path for row in left][-2:] == ["uploads", "uploads/a"]
    assert not seen(workspace, "uploads").rows


def test_a_deep_folder_is_drawn_to_a_depth_and_opened_from_there(workspace: Workspace) -> None:
    path = "/".join("d" * (MAX_DEPTH + 5))
    workspace.write(f"{path}/file", b"")
    drawn = list(rows(seen(workspace)))
    assert len(drawn) == MAX_DEPTH
    assert drawn[-1].closed
    assert any(row.name == "file" for row in rows(seen(workspace, drawn[-1].path)))


def test_an_endlessly_deep_folder_ends_the_walk_and_not_the_page(workspace: Workspace) -> None:
    folder = os.open(workspace.path, os.O_RDONLY)
    for _level in range(3000):
        os.mkdir("dd", dir_fd=folder)
        inner = os.open("dd", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    found = scan_workspace(workspace)
    remove_folder(workspace.path)  # whoever tidies up after the tests would not get through
    assert not found.whole
    assert len(found.entries) < 2000
    assert len(list(rows(tree_of(".", found.entries, {}, whole=found.whole)))) <= MAX_DEPTH


def test_what_was_deleted_stands_in_its_place_with_its_folder(workspace: Workspace) -> None:
    workspace.write("kept", b"")
    changes: dict[str, Change] = {"gone/with/it": "deleted", "kept": "changed"}
    found = scan_workspace(workspace)
    tree = tree_of(".", found.entries, changes, whole=True)
    assert [(row.path, row.change) for row in rows(tree)] == [
        ("gone", "deleted"),
        ("gone/with", "deleted"),
        ("gone/with/it", "deleted"),
        ("kept", "changed"),
    ]
    assert (tree.changed, tree.rows[0].changed) == (2, 1)


def test_names_are_shown_as_characters_that_can_be_shown(workspace: Workspace) -> None:
    for name in (b"a\nb", b"\xe2\x80\xaefdp.exe", b"caf\xe9", "文件".encode()):
        with open(os.fsencode(workspace.path) + b"/" + name, "w"):
            pass
    shown = {row.name: row for row in rows(seen(workspace))}
    assert set(shown) == {"a\ufffdb", "\ufffdfdp.exe", "caf\ufffd", "文件"}
    assert not shown["caf\ufffd"].can_be_opened
    assert shown["a\ufffdb"].address == "?path=a%0Ab"


@pytest.mark.parametrize("path", ["../x", "nothing", "link", "file", "a\0b", "x" * 5000])
def test_a_folder_that_is_none_is_refused_in_a_sentence(workspace: Workspace, path: str) -> None:
    workspace.write("file", b"")
    (workspace.path / "link").symlink_to("/etc")
    with pytest.raises(WorkspaceError) as caught:
        scan_workspace(workspace, path)
    assert str(caught.value).endswith(".")


def test_links_out_are_listed_and_not_followed(workspace: Workspace) -> None:
    (workspace.path / "etc").symlink_to("/etc")
    os.mkfifo(workspace.path / "pipe")
    assert {row.name: row.kind for row in rows(seen(workspace))} == {"etc": "link", "pipe": "other"}
