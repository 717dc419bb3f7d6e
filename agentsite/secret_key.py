"""The secret that signs sessions: kept in a file that only its owner can read."""

from __future__ import annotations

import os
from pathlib import Path

from django.core.management.utils import get_random_secret_key


def kept_secret_key(file: Path) -> str:
    """The key in `file`, which is made with mode 600 when it does not exist yet."""
    try:
        return file.read_text().strip()
    except FileNotFoundError:
        pass
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
    return file.read_text().strip()
