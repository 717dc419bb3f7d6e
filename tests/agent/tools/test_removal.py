"""A workspace is removed whole, whatever is in it, and nothing outside is."""

from __future__ import annotations

import os
from pathlib import Path

from chat.agent.removal import remove_folder
from tests.agent.tools.people import Server

DEPTH = 20_000


def test_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "own" / "a" / "b").mkdir(parents=True)
    (tmp_path / "own" / "a" / "b" / "file").write_text("text")
    (tmp_path / "own" / "-rf").write_text("text")
    os.mkfifo(tmp_path / "own" / "pipe")
    with open(os.fsencode(tmp_path) + b"/own/caf\xe9\n", "w"):
        pass
    assert remove_folder(tmp_path / "own")
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_there_is_gone(tmp_path: Path) -> None:
    assert remove_folder(tmp_path / "nothing")


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("text")
    (tmp_path / "own" / "inner").mkdir(parents=True)
    for place in ("own/link", "own/inner/link"):
        (tmp_path / place).symlink_to(tmp_path / "precious")
    assert remove_folder(tmp_path / "own")
    assert (tmp_path / "precious" / "file").read_text() == "text"


def test_a_link_in_the_folders_place_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("text")
    (tmp_path / "own").symlink_to(tmp_path / "precious")
    assert not remove_folder(tmp_path / "own")
    assert (tmp_path / "precious" / "file").exists()


def test_no_depth_is_too_deep(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    folder = os.open(tmp_path / "own", os.O_RDONLY)
    for _level in range(DEPTH):
        os.mkdir("d" * 20, dir_fd=folder)
        inner = os.open("d" * 20, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    assert remove_folder(tmp_path / "own")
    assert list(tmp_path.iterdir()) == []


def test_what_a_command_locked_is_removed_by_whoever_runs_the_server(server: Server) -> None:
    done = server.bash(
        "mkdir -p a/b/c d; touch a/b/c/f d/f; ln -s /etc d/link; chmod 0 a/b/c/f a/b/c a/b d; chmod 555 a ."
    )
    assert done.ok, done

    async def remove() -> bool:
        return remove_folder(server.folder)

    assert server.run(remove)
    assert not server.folder.exists()
