"""What a file is, by its bytes: never by its name, which anybody may choose."""

from __future__ import annotations

from typing import Literal

Kind = Literal["text", "image", "other"]


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
