"""Pictures for a model: their types, and how they are sent.

A user message or a tool result has its pictures next to it under the key "pictures". When sent, they become
parts of its content; pictures of results go into a separate message after the results, because most endpoints
take only text in a result.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chat.agent.prompts import Language, phrase

MAX_BYTES = 4 * 2**20  # of one picture; some endpoints take 5 MiB, base64 overhead included
MAX_PICTURES = 20  # in a request
MAX_TOTAL_BYTES = 12 * 2**20
PICTURES_KEY = "pictures"
HEAD = 16  # bytes needed to detect the type

Message = Mapping[str, Any]

# How complete files end. Some programs append a few bytes.
_TRAILERS = {"image/png": b"IEND", "image/jpeg": b"\xff\xd9", "image/gif": b"\0;"}
_TAIL = 4096  # bytes


@dataclass(frozen=True)
class Picture:
    """A stored picture; `read` returns its bytes, or None if they are gone.

    `name` is the name shown to the model, a path in the workspace. A picture with a `fault` ("large",
    "damaged", "full", "refused") is never sent; the model reads a note instead.
    """

    name: str
    media_type: str
    size: int
    digest: str = ""
    fault: str = ""
    read: Callable[[], bytes | None] = field(default=lambda: None, repr=False, compare=False)

    @classmethod
    def of(cls, name: str, data: bytes) -> Picture:
        return cls(name, image_type(data[:HEAD]), len(data), fault=fault_of(data), read=lambda: data)

    def about(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "media_type": self.media_type,
            "size": self.size,
            "digest": self.digest,
            "fault": self.fault,
        }


def image_type(head: bytes) -> str:
    """The media type of a raster image; empty for anything else, including SVG, which can contain scripts."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return ""


def fault_of(data: bytes) -> str:
    """Why a picture cannot be sent, or "". Endpoints refuse every request with a truncated picture."""
    if len(data) > MAX_BYTES:
        return "large"
    kind = image_type(data[:HEAD])
    if kind == "image/webp":
        whole = len(data) >= int.from_bytes(data[4:8], "little") + 8
    else:
        whole = kind in _TRAILERS and _TRAILERS[kind] in data[-_TAIL:] and len(data) > 2 * HEAD
    return "" if whole else "damaged"


def with_pictures(messages: Iterable[Message], language: Language) -> list[dict[str, Any]]:
    """The messages as sent, with their pictures embedded. Blocks: reads and encodes.

    If there are too many for one request the older ones are left out, several at a time, so that the prompt's
    prefix changes rarely.
    """
    copies = [dict(message) for message in messages]
    ids_to_send = _ids_to_send([each for message in copies for each in message.get(PICTURES_KEY, ())])
    sent: list[dict[str, Any]] = []
    pending: list[dict[str, Any]] = []
    for message in copies:
        parts = [
            part for each in message.pop(PICTURES_KEY, ()) for part in _parts(each, ids_to_send, language)
        ]
        if pending and message["role"] != "tool":
            sent.append(_pictures_message(pending, language))
            pending = []
        if parts and message["role"] == "tool":
            pending += parts
        elif parts:
            message["content"] = [*_as_parts(message.get("content")), *parts]
        sent.append(message)
    return [*sent, *([_pictures_message(pending, language)] if pending else [])]


def pictures_field(pictures: Sequence[Picture]) -> dict[str, Any]:
    return {PICTURES_KEY: tuple(pictures)} if pictures else {}


async def with_pictures_in_thread(messages: list[dict[str, Any]], language: Language) -> list[dict[str, Any]]:
    """`with_pictures` off the event loop; skipped if there are no pictures."""
    if not any(message.get(PICTURES_KEY) for message in messages):
        return messages
    return await asyncio.to_thread(with_pictures, messages, language)


def _ids_to_send(pictures: Sequence[Picture]) -> set[int]:
    """The ids of the pictures to send: all while they fit, else the newest that fit into half the limits."""
    kept: list[Picture] = []
    for picture in pictures:
        if picture.fault:
            continue
        kept.append(picture)
        if len(kept) > MAX_PICTURES or sum(each.size for each in kept) > MAX_TOTAL_BYTES:
            kept = _newest(kept)
    return {id(picture) for picture in kept}


def _newest(pictures: list[Picture]) -> list[Picture]:
    kept, size = pictures[-1:], pictures[-1].size
    for picture in reversed(pictures[:-1]):
        size += picture.size
        if len(kept) >= MAX_PICTURES // 2 or size > MAX_TOTAL_BYTES // 2:
            break
        kept.insert(0, picture)
    return kept


def _parts(picture: Picture, ids_to_send: set[int], language: Language) -> Iterator[dict[str, Any]]:
    fault = picture.fault or ("" if id(picture) in ids_to_send else "older")
    data = None if fault else picture.read()
    if data is None:
        yield _text(phrase(language, f"picture.{fault or 'gone'}", name=picture.name, **_numbers(picture)))
        return
    yield _text(phrase(language, "picture.named", name=picture.name))
    yield {"type": "image_url", "image_url": {"url": data_url(picture.media_type, data)}}


def data_url(media_type: str, data: bytes) -> str:
    return f"data:{media_type};base64,{b64encode(data).decode()}"


def _numbers(picture: Picture) -> dict[str, str]:
    return {
        "size": f"{picture.size / 2**20:.1f}",
        "limit": f"{MAX_BYTES / 2**20:g}",
        "most": str(MAX_PICTURES),
    }


def _pictures_message(parts: list[dict[str, Any]], language: Language) -> dict[str, Any]:
    return {"role": "user", "content": [_text(phrase(language, "picture.results")), *parts]}


def _as_parts(content: Any) -> list[Any]:
    return [_text(content)] if isinstance(content, str) else list(content or ())


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
