"""Folders and files of the site that other users of the machine cannot read."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from django.core.management.utils import get_random_secret_key

from agentsite.environment import SHORTEST_SECRET

READ_WRITE_ENTER, READ_WRITE = 0o077, 0o066  # what other users and the group may do


def private_folder(folder: Path) -> Path:
    """The folder, made if missing, closed to other users together with what is directly in it.

    Root's can still be passed through, by those who know a name in it, and so can the folders in it: where
    bubblewrap cannot be prepared as root it starts as the sandbox's user, who has to get to a workspace.
    Modes that cannot be changed are left as they are.
    """
    with suppress(OSError):  # whatever needs the folder says what is wrong with it
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o711 if os.geteuid() == 0 else 0o700)
        for name in os.listdir(folder):
            _close(folder / name)
    return folder


def private_file(file: Path) -> None:
    """Make the file, empty, if it is missing: who opens it later would make it for everybody to read."""
    with suppress(OSError):
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600))


def _close(file: Path) -> None:
    mode = file.lstat().st_mode
    taken = {stat.S_IFREG: READ_WRITE_ENTER, stat.S_IFDIR: READ_WRITE}.get(stat.S_IFMT(mode), 0)
    if mode & taken:
        file.chmod(stat.S_IMODE(mode) & ~taken)


def kept_secret_key(file: Path) -> str:
    """The key in `file`, which is made with mode 600 when it does not exist yet.

    Raises ImproperlyConfigured, naming DATA_DIR, when the file can be neither read nor made, or when what it
    holds could be guessed.
    """
    try:
        if not file.exists():
            _make(file)
        key = file.read_text().strip()
    except OSError as error:
        raise ImproperlyConfigured(
            f"DATA_DIR must be a folder that can be written to; {str(file)!r} cannot: {error.strerror}."
        ) from None
    if len(key) < SHORTEST_SECRET:
        raise ImproperlyConfigured(
            f"DATA_DIR must hold a secret_key of at least {SHORTEST_SECRET} characters. Restore it from a "
            "backup, or delete it: then everyone signs in again, and stored keys have to be entered again."
        )
    return key


def _make(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_name(f"{file.name}.{os.getpid()}")
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as opened:
        opened.write(get_random_secret_key())
    try:
        os.link(fresh, file)  # the first of several starting processes wins
    except FileExistsError:
        pass
    finally:
        fresh.unlink()
