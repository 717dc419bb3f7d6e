"""Makes file names safe on every system."""

from __future__ import annotations

import re
import unicodedata

MAX_BYTES = 200  # bytes; file systems allow 255
ENDING = 60  # bytes of the end that a shortened name keeps: names of a series differ there
_SPECIAL = re.compile(r'[<>:"|?*`\\/]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)


def safe_name(path: str) -> str:
    """The last part of a file name, without anything special to paths, shells or readers.

    Folders are cut off; control characters, bidirectional marks and lone surrogates are removed; a name that
    would be hidden, look like an option or mean a device gets another beginning; a long one loses its middle.
    Never empty.
    """
    name = re.split(r"[\\/]", path)[-1]
    name = "".join(map(_safe_character, unicodedata.normalize("NFC", name)))
    name = re.sub(r"\s+", " ", name).strip(" .").lstrip("-~ .")
    if _RESERVED.fullmatch(name):
        name = f"_{name}"
    return _shorten(name) or "file"


def numbered(name: str, number: int) -> str:
    if number == 1:
        return name
    stem, dot, extension = name.rpartition(".")
    return f"{stem}-{number}.{extension}" if dot and stem else f"{name}-{number}"


def _safe_character(character: str) -> str:
    if character.isspace():
        return " "
    if unicodedata.category(character)[0] == "C":  # control, format (direction), surrogate, unassigned
        return ""
    return _SPECIAL.sub("_", character)


def _shorten(name: str) -> str:
    if len(name.encode()) <= MAX_BYTES:
        return name
    stem, dot, extension = name.rpartition(".")
    if not dot or len(extension.encode()) > 16:
        stem, dot, extension = name, "", ""
    encoded = stem.encode()
    limit = MAX_BYTES - len(f"…{dot}{extension}".encode()) - ENDING
    beginning, end = (part.decode(errors="ignore") for part in (encoded[:limit], encoded[-ENDING:]))
    return f"{beginning}…{end}".rstrip(" .") + dot + extension
