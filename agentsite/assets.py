"""One stylesheet and one script, joined from the small files that they are written in; one for replays."""

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
