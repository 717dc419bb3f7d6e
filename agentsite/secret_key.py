"""The secret that signs sessions: kept in a file that only its owner can read."""

from __future__ import annotations

import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from django.core.management.utils import get_random_secret_key


def kept_secret_key(file: Path) -> str:
    """The key in `file`, which is made with mode 600 when it does not exist yet.

    Raises ImproperlyConfigured, naming DATA_DIR, when the file can be neither read nor made.
    """
    try:
        if not file.exists():
            _make(file)
        return file.read_text().strip()
    except OSError as error:
        raise ImproperlyConfigured(
            f"DATA_DIR must be a folder that can be written to; {str(file)!r} cannot: {error.strerror}."
        ) from None


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
