"""Joins stylesheets and scripts into one file each, and collects static files."""

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

# htmx and its websocket extension must be in one file: as two deferred scripts they race, and the socket may
# never open.
SCRIPT_FOLDERS = ["vendor", "js"]
STYLE_FOLDERS = ["css"]
# Shared pages and replays show untrusted text, so they load only two scripts, and pages about faults one.
APART = {"read-only.js": ["local-times.js", "replay.js"], "fault.js": ["fault.js"]}


class JoinedFinder(BaseFinder):
    """Finds `app.css`, `app.js` and the files of APART, which exist only once joined."""

    def find(self, path: str, find_all: bool = False, **_kwargs: Any) -> Any:
        """Always empty: the files are only collected, never looked up by path."""
        return []

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, Storage]]:
        storage = InMemoryStorage()
        for name, content in joined().items():
            storage.save(name, ContentFile(content))
            yield name, storage


def joined() -> dict[str, bytes]:
    """The content of each joined file, by name. Sources are sorted by folder, then name."""
    scripts = _sources(SCRIPT_FOLDERS, ".js")
    return {
        "app.css": _join(_sources(STYLE_FOLDERS, ".css")),
        "app.js": _join(file for file in scripts if not any(file.name in names for names in APART.values())),
        **{part: _join(file for file in scripts if file.name in names) for part, names in APART.items()},
    }


def _sources(folders: Iterable[str], suffix: str) -> list[Path]:
    root = Path(settings.BASE_DIR) / "static"
    return [file for folder in folders for file in sorted((root / folder).glob(f"*{suffix}"))]


def _join(sources: Iterable[Path]) -> bytes:
    return b"\n".join(file.read_bytes().rstrip() + b"\n" for file in sources)


PARTS = ["css/*", "js/*", "vendor/*"]  # sources of the joined files, which are not served themselves
STAMP = "collected"


def collect() -> None:
    """Collect static files if the sources have changed. Raises OSError if STATIC_ROOT is not writable."""
    stamp = settings.STATIC_ROOT / STAMP
    digest = _digest()
    if stamp.is_file() and stamp.read_text() == digest:
        return
    stamp.unlink(missing_ok=True)  # an interrupted run starts over
    call_command("collectstatic", verbosity=0, interactive=False, ignore_patterns=PARTS)
    stamp.write_text(digest)


def _digest() -> str:
    versions = django.__version__, servestatic.__version__, settings.STORAGES["staticfiles"]["BACKEND"]
    digest = hashlib.blake2s(repr(versions).encode())
    for path, storage in _static_sources():
        with storage.open(path) as source:
            content = source.read()
        digest.update(f"{path}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _static_sources() -> Iterator[tuple[str, Storage]]:
    for finder in get_finders():
        yield from finder.list(PARTS)
