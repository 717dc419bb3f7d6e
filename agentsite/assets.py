"""One stylesheet and one script, joined from the small files that they are written in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage, Storage

# htmx and its websocket extension must be one file: two deferred ones race, and the socket may never open.
SCRIPT_FOLDERS = ["vendor", "js"]
STYLE_FOLDERS = ["css"]


class JoinedFinder(BaseFinder):
    """Finds `app.css` and `app.js`, which exist nowhere as files."""

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
    return {"app.css": _join(STYLE_FOLDERS, ".css"), "app.js": _join(SCRIPT_FOLDERS, ".js")}


def _join(folders: Iterable[str], suffix: str) -> bytes:
    root = Path(settings.BASE_DIR) / "static"
    sources = [file for folder in folders for file in sorted((root / folder).glob(f"*{suffix}"))]
    return b"\n".join(file.read_bytes().rstrip() + b"\n" for file in sources)
