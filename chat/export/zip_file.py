"""Several conversations as one zip file, each in the same format."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import IO

from django.utils import timezone
from django.utils.translation import gettext as _

from chat.export.json_file import json_pieces
from chat.export.markdown_file import markdown_pieces
from chat.export.page import html_pieces
from chat.export.validation import FileRefused
from chat.files.archive import CHUNK_SIZE, ZipSink
from chat.files.names import numbered, safe_name
from chat.models import Conversation

# By the extension of their files.
FORMATS: dict[str, Callable[[Conversation], Iterator[str]]] = {
    "html": html_pieces,
    "md": markdown_pieces,
    "json": json_pieces,
}


def file_name(conversation: Conversation, extension: str) -> str:
    title = re.sub(r"[\\/]", "-", conversation.title)  # no folders
    return f"{safe_name(title)[:60].strip()}.{extension}"


def zip_pieces(conversations: Iterable[Conversation], extension: str) -> Iterator[bytes]:
    """The zip file in pieces; only one conversation's turn is in memory at a time."""
    sink = ZipSink()
    names: dict[str, int] = {}
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as zip_file:  # type: ignore[call-overload]
        for conversation in conversations:
            name = _new_name(file_name(conversation, extension), names)
            info = zipfile.ZipInfo(name, timezone.localtime(conversation.updated_at).timetuple()[:6])
            info.compress_type = zipfile.ZIP_DEFLATED
            with zip_file.open(info, "w", force_zip64=True) as part:
                for text in FORMATS[extension](conversation):
                    part.write(text.encode())
                    if len(sink.written) >= CHUNK_SIZE:
                        yield sink.take()
    yield sink.take()


def _new_name(name: str, names: dict[str, int]) -> str:
    """The name with a number where others have it, in any case, as some systems compare them."""
    while True:
        names[name.casefold()] = number = names.get(name.casefold(), 0) + 1
        if number == 1:
            return name
        name = numbered(name, number)


def json_files(file: IO[bytes]) -> list[tuple[str, Callable[[int], bytes]]]:
    """The names of a zip file's JSON files, each with a function that reads up to a number of its bytes.

    It, and they, raise FileRefused for a file that cannot be read.
    """
    try:
        zip_file = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError):
        raise FileRefused(_("The ZIP file is damaged.")) from None
    return [
        (info.filename, partial(_read, zip_file, info))
        for info in zip_file.infolist()
        # macOS adds a folder with a file of its own for each
        if info.filename.lower().endswith(".json") and not info.filename.startswith("__MACOSX/")
    ]


def _read(zip_file: zipfile.ZipFile, info: zipfile.ZipInfo, max_bytes: int) -> bytes:
    try:
        with zip_file.open(info) as part:
            return part.read(max_bytes)
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError):
        raise FileRefused(_("The ZIP file is damaged.")) from None
    except RuntimeError:  # also for a method of compression that is not supported
        raise FileRefused(_("The ZIP file is encrypted or of an unknown kind.")) from None
