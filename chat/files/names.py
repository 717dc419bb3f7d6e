"""Names that came from somebody's computer, made into names that are safe on every other."""

from __future__ import annotations

import re
import unicodedata

LONGEST = 120  # bytes
_SPECIAL = re.compile(r'[<>:"|?*`\\/]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)


def safe_name(given: str) -> str:
    """The last part of a file's name without anything that a path, a shell or a reader could stumble over.

    Folders are cut off; control characters, marks of writing direction and lone surrogates vanish; a name
    that would be hidden, look like an option or mean a device gets another beginning; a long one keeps its
    ending. Never empty.
    """
    name = re.split(r"[\\/]", given)[-1]
    name = "".join(map(_safe, unicodedata.normalize("NFC", name)))
    name = re.sub(r"\s+", " ", name).strip(" .").lstrip("-~ .")
    if _RESERVED.fullmatch(name):
        name = f"_{name}"
    return _shortened(name) or "file"


def numbered(name: str, number: int) -> str:
    """The name for the `number`th file of it: "a.txt", "a-2.txt"."""
    if number == 1:
        return name
    stem, dot, ending = name.rpartition(".")
    return f"{stem}-{number}.{ending}" if dot and stem else f"{name}-{number}"


def _safe(character: str) -> str:
    if character.isspace():
        return " "
    if unicodedata.category(character)[0] == "C":  # control, format (direction), surrogate, unassigned
        return ""
    return _SPECIAL.sub("_", character)


def _shortened(name: str) -> str:
    if len(name.encode()) <= LONGEST:
        return name
    stem, dot, ending = name.rpartition(".")
    if not dot or len(ending.encode()) > 16:
        stem, dot, ending = name, "", ""
    room = LONGEST - len((dot + ending).encode())
    return stem.encode()[:room].decode(errors="ignore").rstrip(" .") + dot + ending
