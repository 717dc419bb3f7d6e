"""The secret that signs sessions: kept in a file that only its owner can read."""

from __future__ import annotations

import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from django.core.management.utils import get_random_secret_key

from agentsite.environment import SHORTEST_SECRET


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
