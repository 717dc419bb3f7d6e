"""Where conversations work, and that none of them works anywhere else."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from chat.agent.workspace import Folder, WorkspaceError
from chat.files.baseline import baseline_of, baseline_path
from chat.files.conversation_workspace import open_workspace, quota_of, remove_workspace, workspace_of
from chat.files.roots import FolderRefused, chosen_folder, offered
from chat.models import Conversation


@pytest.fixture
def root(settings: Any, tmp_path: Path) -> Path:
    """A directory that conversations may be opened on, and beside it one that they may not."""
    made = tmp_path / "code"
    (made / "project" / "src").mkdir(parents=True)
    (made / ".hidden").mkdir()
    (made / "file").write_text("text")
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "secret").write_text("secret")
    settings.WORKSPACE_ROOTS = [made]
    return made


def test_a_conversation_has_a_directory_of_its_own(conversation: Conversation, workspaces: Path) -> None:
    workspace = open_workspace(conversation)
    assert workspace.path == workspaces / str(conversation.pk)
    assert workspace.path.stat().st_mode & 0o077 == 0
    assert workspace.quota == quota_of(conversation)
    start = baseline_of(conversation.pk)
    assert (start.known, start.stamps) == (True, {})


def test_samples_were_there_at_the_start(conversation: Conversation, settings: Any) -> None:
    settings.WORKSPACE_SEED = "chat.demo.workspace.seed"
    open_workspace(conversation)
    assert "shop.py" in baseline_of(conversation.pk).stamps


def test_looking_makes_nothing(conversation: Conversation, workspaces: Path) -> None:
    workspace_of(conversation)
    assert not workspaces.exists()


def test_removing_takes_the_record_along(conversation: Conversation, workspaces: Path) -> None:
    open_workspace(conversation).write("file", b"")
    remove_workspace(conversation.pk)
    assert list(workspaces.iterdir()) == []
    assert not baseline_path(conversation.pk).exists()


def test_roots_and_the_folders_in_them_are_offered(root: Path) -> None:
    assert offered() == [str(root), f"{root}/project"]


@pytest.mark.parametrize("beneath", ["", "/", "/project", "/project/", "/project/src", "/project/../project"])
def test_a_folder_beneath_a_root_is_taken(root: Path, beneath: str) -> None:
    expected = {"": "", "/": "", "/project/src": "/project/src"}.get(beneath, "/project")
    assert chosen_folder(f" {root}{beneath} ") == f"{root}{expected}"


def test_no_folder_is_no_refusal(root: Path) -> None:
    assert chosen_folder("  ") == ""


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("/etc", "must be one of these, or inside one: "),
        ("project", "must be one of these"),
        ("{root}x", "must be one of these"),
        ("{root}/../private", "is outside the folders"),
        ("{root}/project/../../private", "is outside the folders"),
        ("{root}/link", "is outside the folders"),
        ("{root}/absolute", "is outside the folders"),
        ("{root}/nothing", "There is no folder called nothing."),
        ("{root}/file", "file is not a folder."),
        ("{root}/a\0b", "invalid"),
        ("{root}/a\nb", "invalid"),
        ("{root}/" + "x" * 5000, "invalid or too long"),
        ("{root}/" + "x" * 300, "x is outside the folders"),
    ],
)
def test_any_other_is_refused_and_says_why(root: Path, given: str, why: str) -> None:
    (root / "link").symlink_to("../private")
    (root / "absolute").symlink_to("/etc")
    with pytest.raises(FolderRefused) as caught:
        chosen_folder(given.replace("{root}", str(root)))
    assert why in str(caught.value)


def test_where_there_are_no_roots_none_is_taken(settings: Any) -> None:
    settings.WORKSPACE_ROOTS = []
    with pytest.raises(FolderRefused, match="WORKSPACE_ROOTS"):
        chosen_folder("/etc")
    assert offered() == []


def test_a_link_within_the_root_is_stored_as_where_it_leads(root: Path) -> None:
    (root / "alias").symlink_to("project")
    assert chosen_folder(f"{root}/alias") == f"{root}/project"


def test_a_named_folder_has_no_quota_and_is_not_removed(root: Path, conversation: Conversation) -> None:
    conversation.workspace = chosen_folder(f"{root}/project")
    workspace = open_workspace(conversation)
    workspace.write("new", b"text")
    assert quota_of(conversation) is None
    remove_workspace(conversation.pk)
    assert (root / "project" / "new").read_bytes() == b"text"
    assert not baseline_of(conversation.pk).known


@pytest.mark.parametrize("swapped", ["project", "project/src"])
def test_a_link_put_in_its_place_later_leads_nowhere(
    root: Path, conversation: Conversation, swapped: str
) -> None:
    conversation.workspace = chosen_folder(f"{root}/project/src")
    (root / swapped).rename(root / "aside")
    (root / swapped).symlink_to(root.parent / "private")
    (root.parent / "private" / "src").mkdir()
    with pytest.raises(WorkspaceError, match="cannot be opened"):
        open_workspace(conversation).write("new", b"")
    with pytest.raises(WorkspaceError, match="cannot be opened"):
        workspace_of(conversation).read("secret")


def test_no_race_leads_out(root: Path, conversation: Conversation) -> None:
    """Somebody swaps the folder and a link to a private one as fast as they can."""
    conversation.workspace = chosen_folder(f"{root}/project")
    (root / "project" / "own").write_text("own")
    done = threading.Event()

    def swap() -> None:
        os.symlink(root.parent / "private", root / "link")
        while not done.is_set():
            os.rename(root / "project", root / "aside")
            os.rename(root / "link", root / "project")
            os.rename(root / "project", root / "link")
            os.rename(root / "aside", root / "project")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        opened = 0
        for _attempt in range(3000):
            try:
                found = workspace_of(conversation).look(".")
                chosen = chosen_folder(f"{root}/project")
            except (WorkspaceError, FolderRefused):
                continue
            opened += 1
            assert isinstance(found, Folder)
            assert found.names in (["own", "src/"], ["src/"])
            assert chosen.startswith(f"{root}/")
        assert opened
    finally:
        done.set()
        thread.join()
