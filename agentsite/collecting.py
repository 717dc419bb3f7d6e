"""The static files, collected where they are served from, once for each state of their sources."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import django
import servestatic
from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.files.storage import Storage
from django.core.management import call_command

PARTS = ["css/*", "js/*", "vendor/*"]  # what the joined files are made of is not served
STAMP = "collected"


def collect() -> None:
    """Collect the static files, unless those that are there were made of the same sources.

    Raises OSError where STATIC_ROOT cannot be written to.
    """
    stamp = settings.STATIC_ROOT / STAMP
    wanted = _digest()
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    stamp.unlink(missing_ok=True)  # whoever is interrupted begins anew
    call_command("collectstatic", verbosity=0, interactive=False, ignore_patterns=PARTS)
    stamp.write_text(wanted)


def _digest() -> str:
    """A text that differs where any source does, or what they are collected with."""
    makers = django.__version__, servestatic.__version__, settings.STORAGES["staticfiles"]["BACKEND"]
    digest = hashlib.blake2s(repr(makers).encode())
    for path, storage in _sources():
        with storage.open(path) as source:
            content = source.read()
        digest.update(f"{path}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _sources() -> Iterator[tuple[str, Storage]]:
    for finder in get_finders():
        yield from finder.list(PARTS)
