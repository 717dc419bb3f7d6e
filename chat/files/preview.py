"""The preview of a workspace file."""

from __future__ import annotations

import codecs
import csv
import os
import re
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from itertools import islice, zip_longest
from pathlib import PurePath
from typing import Literal

import chardet

from chat.agent.pictures import HEAD, image_type
from chat.agent.safe_open import open_beneath
from chat.agent.scan import Entry, stamp_of
from chat.agent.tools.bash import without_terminal_codes
from chat.agent.workspace import Workspace, WorkspaceError, relative
from chat.files.archive import opened_file
from chat.files.baseline import Baseline, Change, change_of
from chat.files.tree import address, shown

Kind = Literal["text", "image", "other"]
Rendering = Literal["markdown", "table", "svg", "page"]

# What is shown as a picture; its content decides, except that an SVG file is one by its name too.
PICTURE_NAMES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg")
MAX_TEXT_BYTES = 256 * 1024  # the same as in a baseline
MAX_IMAGE_BYTES = 20 * 1024 * 1024
SVG = "image/svg+xml"
SVG_HEAD = 4096  # bytes in which its root element begins, after a comment or a document type
PDF = b"%PDF-"
CONTROLS = bytes({*range(32), 127} - set(b"\a\b\t\n\v\f\r\x1b"))  # that no terminal writes to its log
MOST_CONTROLS = 0.1  # of a text
NAMES = {"CP932": "Shift_JIS", "CP949": "EUC-KR"}  # as people know the encodings of Windows
_NUMBER = re.compile(r"[-+−]?[$€£¥]?\s?\d[\d.,'\s]*(?:[eE][-+]?\d+)?\s?[%€]?")
MAX_ROWS = 500
MAX_CELLS = 10_000
RENDERINGS: dict[str, Rendering] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".csv": "table",
    ".tsv": "table",
    ".svg": "svg",
    ".html": "page",
    ".htm": "page",
}


@dataclass(frozen=True)
class FilePreview:
    path: str
    kind: Kind
    size: int = 0
    change: Change | None = None
    text: str = ""
    """Its beginning, if it is text, without the codes with which programs colour their logs."""
    encoding: str = ""
    """Of the text, unless that is UTF-8."""
    before: bytes | None = None
    """The content in the baseline, if stored."""
    after: bytes | None = None
    """The current beginning; None if the file is deleted."""
    version: str = ""
    """Differs for each state of the file."""

    @property
    def name(self) -> str:
        return shown(self.path.rpartition("/")[2])

    @property
    def address(self) -> str:
        return address(self.path)

    @property
    def shown_path(self) -> str:
        return shown(self.path)

    @property
    def is_cut(self) -> bool:
        return self.size > MAX_TEXT_BYTES

    @property
    def rendering(self) -> Rendering | None:
        """How the text can be shown other than as its source; None if it cannot."""
        if self.kind != "text" or not self.size:
            return None
        rendering = RENDERINGS.get(PurePath(self.path).suffix.lower())
        return None if rendering == "svg" and not self._is_svg else rendering

    @property
    def _is_svg(self) -> bool:
        return picture_type(self.path, self.after or b"") == SVG and self.size <= MAX_IMAGE_BYTES

    @property
    def is_pdf(self) -> bool:
        return (self.after or b"").startswith(PDF)

    @property
    def can_be_compared(self) -> bool:
        return self.change == "new" or (self.change is not None and self.before is not None)


def preview_of(workspace: Workspace, path: str, baseline: Baseline) -> FilePreview:
    """The file at `path`, or its deletion since the baseline. Raises WorkspaceError if there is neither."""
    name = relative(path)
    try:
        with opened_file(workspace, name) as descriptor:
            status = os.fstat(descriptor)
            data = os.pread(descriptor, MAX_TEXT_BYTES, 0)
    except WorkspaceError:
        if name in baseline.stamps and not _exists(workspace, name):
            return FilePreview(name, "other", change="deleted", before=baseline.content(name))
        raise
    entry = Entry(name, "file", status.st_size, stamp_of(status))
    kind, (text, encoding) = _kind(data, entry.size)
    text = without_terminal_codes(text)
    change, before = change_of(workspace, entry, baseline), baseline.content(name)
    version = "-".join(map(str, entry.stamp))
    return FilePreview(name, kind, entry.size, change, text, encoding, before, data, version)


def picture_type(path: str, head: bytes) -> str:
    """The media type of a file that begins with `head`, if a page can show it as a picture; else empty."""
    is_svg = path.lower().endswith(".svg") and b"<svg" in head[:SVG_HEAD]
    return image_type(head[:HEAD]) or (SVG if is_svg else "")


def _exists(workspace: Workspace, name: str) -> bool:
    try:
        with workspace.as_owner() as root:
            os.close(open_beneath(root, name, os.O_PATH | os.O_NOFOLLOW))
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True


def _kind(data: bytes, size: int) -> tuple[Kind, tuple[str, str]]:
    if image_type(data[:HEAD]):
        return ("image" if size <= MAX_IMAGE_BYTES else "other"), ("", "")
    decoded = text_of(data, cut=size > len(data))
    return ("other", ("", "")) if decoded is None else ("text", decoded)


@dataclass(frozen=True)
class Table:
    """The beginning of a CSV file."""

    header: list[str]
    rows: list[list[str]]
    is_cut: bool = False

    @cached_property
    def numeric(self) -> set[int]:
        """The columns of numbers, empty cells aside."""
        columns = list(zip_longest(*self.rows, fillvalue=""))
        return {
            index
            for index, column in enumerate(columns)
            if any(column) and all(not cell or _NUMBER.fullmatch(cell.strip()) for cell in column)
        }


def table_of(text: str) -> Table | None:
    """The text as rows of cells, separated by commas, semicolons or tabs; None if it cannot be read so."""
    text = text.removeprefix("\ufeff")
    beginning = text.partition("\n")[0]
    separator = max(",;\t", key=beginning.count)
    try:
        reader = csv.reader(StringIO(text), delimiter=separator)
        header = next(reader)
        most = min(MAX_ROWS, MAX_CELLS // max(1, len(header)))
        rows = list(islice(reader, most + 1))
    except (csv.Error, StopIteration):
        return None
    longest = MAX_CELLS // max(1, len(rows[:most]))
    if len(header) > longest or any(len(row) > longest for row in rows):
        return None
    return Table(header, [row for row in rows[:most] if row], len(rows) > most)


def is_binary(data: bytes) -> bool:
    """Whether the bytes are meant for programs, even if all of them could be read as text."""
    controls = len(data) - len(data.translate(None, CONTROLS))
    return data.startswith(PDF) or b"\0" in data or controls > len(data) * MOST_CONTROLS


def text_of(data: bytes, *, cut: bool = False) -> tuple[str, str] | None:
    """The bytes as text, and the name of their encoding unless that is UTF-8; None if they are not text.

    Programs of Windows write UTF-16, or a code page that only the words give away. With `cut` the bytes may
    end within a character.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = _decoded(data, "utf-16", cut)
        return None if text is None or is_binary(text.encode()) else (text, "UTF-16")
    if is_binary(data):
        return None
    if (text := _decoded(data, "utf-8", cut)) is not None:
        return text, ""
    found = chardet.detect(data, encoding_era=chardet.EncodingEra.MODERN_WEB)["encoding"]
    if found is None or (text := _decoded(data, found, cut)) is None:
        return None
    return text, NAMES.get(found, found)


def _decoded(data: bytes, encoding: str, cut: bool) -> str | None:
    try:
        return codecs.getincrementaldecoder(encoding)().decode(data, final=not cut)
    except UnicodeDecodeError:
        return None
