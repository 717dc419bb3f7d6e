"""What a file is, by its bytes: never by its name, which anybody may choose."""

from __future__ import annotations

from typing import Literal

Kind = Literal["text", "image", "other"]

HEAD = 16  # bytes that tell an image


def image_type(head: bytes) -> str:
    """The media type of a picture that browsers only paint; empty for all else, SVG (a program) included."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return ""


def text_of(data: bytes, *, cut: bool = False) -> str | None:
    """The bytes as text; None if they are none. With `cut` they may end within a character."""
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if cut and error.start >= len(data) - 3 and error.reason == "unexpected end of data":
            return data[: error.start].decode()
        return None
