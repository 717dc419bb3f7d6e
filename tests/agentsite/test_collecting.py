"""Static files are collected when their sources have changed, and else left alone."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from agentsite.static_files import collect


@pytest.fixture(autouse=True)
def source(settings: Any, tmp_path: Path) -> Path:
    """A source among the others, which are collected to a folder of the test's own."""
    (tmp_path / "own").mkdir()
    (tmp_path / "static").mkdir()
    source = tmp_path / "own" / "more.svg"
    source.write_text("<svg></svg>")
    settings.STATICFILES_DIRS = [*settings.STATICFILES_DIRS, tmp_path / "own"]
    settings.STATIC_ROOT = tmp_path / "static"
    return source


def collected(settings: Any) -> dict[str, int]:
    """The files that are served, and when each was written."""
    files = [file for file in settings.STATIC_ROOT.rglob("*") if file.is_file()]
    return {str(file.relative_to(settings.STATIC_ROOT)): file.stat().st_mtime_ns for file in files}


def test_what_is_there_is_left_alone(settings: Any) -> None:
    collect()
    before = collected(settings)
    assert {"app.css", "app.js", "more.svg", "staticfiles.json"} <= before.keys()
    assert not [name for name in before if name.startswith(("css/", "js/", "vendor/"))]
    assert [name for name in before if name.startswith("admin/css/")]
    collect()
    assert collected(settings) == before


def test_a_source_that_changed_is_served_anew(settings: Any, source: Path) -> None:
    collect()
    source.write_text("<svg><g/></svg>")
    os.utime(source, times=(time.time() + 60,) * 2)  # a change within the same second is not one to Django
    collect()
    assert (settings.STATIC_ROOT / "more.svg").read_text() == "<svg><g/></svg>"


def test_who_was_interrupted_begins_anew(settings: Any, source: Path) -> None:
    collect()
    before = collected(settings)
    source.write_bytes(b"")
    (settings.STATIC_ROOT / "more.svg").unlink()
    (settings.STATIC_ROOT / "more.svg").mkdir()  # nothing can be put there
    with pytest.raises(OSError, match=r"more\.svg"):
        collect()
    (settings.STATIC_ROOT / "more.svg").rmdir()
    source.write_text("<svg></svg>")
    collect()
    assert before.keys() <= collected(settings).keys()
