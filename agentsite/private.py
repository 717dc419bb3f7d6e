"""Files and folders that other users of the machine cannot read."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from django.core.management.utils import get_random_secret_key

from agentsite.environment import MIN_SECRET_LENGTH

ALL_BITS, READ_WRITE_BITS = 0o077, 0o066  # of group and others


def private_folder(folder: Path) -> Path:
    """Create the folder if missing, and close it and its direct children to other users.

    Root's folders keep the execute bit: where bubblewrap cannot be prepared as root, it starts as the
    sandbox's user, who has to reach a workspace. Modes that cannot be changed are left as they are.
    """
    with suppress(OSError):  # the first use of the folder reports the problem
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o711 if os.geteuid() == 0 else 0o700)
        for name in os.listdir(folder):
            _close(folder / name)
    return folder


def private_file(file: Path) -> None:
    """Create the file, empty, if missing; whoever created it later would use the default mode."""
    with suppress(OSError):
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600))


def _close(file: Path) -> None:
    mode = file.lstat().st_mode
    removed_bits = {stat.S_IFREG: ALL_BITS, stat.S_IFDIR: READ_WRITE_BITS}.get(stat.S_IFMT(mode), 0)
    if mode & removed_bits:
        file.chmod(stat.S_IMODE(mode) & ~removed_bits)


def kept_secret_key(file: Path) -> str:
    """The key in `file`, which is created with mode 600 if missing.

    Raises ImproperlyConfigured, naming DATA_DIR, if the file cannot be read or created, or if the key is too
    short.
    """
    try:
        if not file.exists():
            _create_key(file)
        key = file.read_text().strip()
    except OSError as error:
        raise ImproperlyConfigured(
            f"DATA_DIR must be a folder that can be written to; {str(file)!r} cannot: {error.strerror}."
        ) from None
    if len(key) < MIN_SECRET_LENGTH:
        raise ImproperlyConfigured(
            f"DATA_DIR must hold a secret_key of at least {MIN_SECRET_LENGTH} characters. Restore it from a "
            "backup, or delete it: then everyone signs in again, and stored keys have to be entered again."
        )
    return key


def _create_key(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f"{file.name}.{os.getpid()}")
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as stream:
        stream.write(get_random_secret_key())
    try:
        os.link(temporary, file)  # the first of several starting processes wins
    except FileExistsError:
        pass
    finally:
        temporary.unlink()
