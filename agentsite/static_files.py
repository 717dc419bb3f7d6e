"""One stylesheet and one script, joined from the small files that they are written in; one for replays."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import django
import servestatic
from django.conf import settings
from django.contrib.staticfiles.finders import BaseFinder, get_finders
from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage, Storage
from django.core.management import call_command

# htmx and its websocket extension must be one file: two deferred ones race, and the socket may never open.
SCRIPT_FOLDERS = ["vendor", "js"]
STYLE_FOLDERS = ["css"]
# Replays show text of strangers, so their script comes alone: what is not loaded cannot be made use of.
ALONE = "replay.js"


class JoinedFinder(BaseFinder):
    """Finds `app.css`, `app.js` and `replay.js`, which are no files where they are served."""

    def find(self, path: str, find_all: bool = False, **_kwargs: Any) -> Any:
        """Nothing: these are only collected, never looked up by path."""
        return []

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, Storage]]:
        """The joined files, for `collectstatic`."""
        storage = InMemoryStorage()
        for name, content in joined().items():
            storage.save(name, ContentFile(content))
            yield name, storage


def joined() -> dict[str, bytes]:
    """The content of each joined file by its name. Sources come folder by folder, by name within one."""
    scripts = _sources(SCRIPT_FOLDERS, ".js")
    return {
        "app.css": _join(_sources(STYLE_FOLDERS, ".css")),
        "app.js": _join(file for file in scripts if file.name != ALONE),
        ALONE: _join(file for file in scripts if file.name == ALONE),
    }


def _sources(folders: Iterable[str], suffix: str) -> list[Path]:
    root = Path(settings.BASE_DIR) / "static"
    return [file for folder in folders for file in sorted((root / folder).glob(f"*{suffix}"))]


def _join(sources: Iterable[Path]) -> bytes:
    return b"\n".join(file.read_bytes().rstrip() + b"\n" for file in sources)


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
    for path, storage in _static_sources():
        with storage.open(path) as source:
            content = source.read()
        digest.update(f"{path}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _static_sources() -> Iterator[tuple[str, Storage]]:
    for finder in get_finders():
        yield from finder.list(PARTS)
