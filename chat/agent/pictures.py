"""Pictures for a model: what they are by their bytes, and how they travel with the messages that bring them.

A message of the conversation, the person's or a tool's result, has its pictures beside it under the name
"pictures". In what is sent they are parts of its content; those of results stand in a message of their own
after the results, because hardly an endpoint takes anything but text in a result.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chat.agent.prompts import Language, phrase

LARGEST = 4 * 2**20  # bytes of one picture; some endpoints take 5 MiB with the quarter that base64 adds
MOST = 20  # pictures of a request
MOST_BYTES = 12 * 2**20
PICTURES_KEY = "pictures"
HEAD = 16  # bytes that tell a picture

Message = Mapping[str, Any]

# What a whole one ends with. Some programs add a little.
_ENDS = {"image/png": b"IEND", "image/jpeg": b"\xff\xd9", "image/gif": b"\0;"}
_TAIL = 4096  # bytes


@dataclass(frozen=True)
class Picture:
    """A picture as it was kept; `read` gives its bytes, or None where they are gone.

    `name` is what the model calls it by, a path in the workspace. One with a `fault` ("large", "damaged",
    "full", "refused") is never sent, and named instead.
    """

    name: str
    media_type: str
    size: int
    digest: str = ""
    fault: str = ""
    read: Callable[[], bytes | None] = field(default=lambda: None, repr=False, compare=False)

    @classmethod
    def of(cls, name: str, data: bytes) -> Picture:
        """A picture that is kept nowhere but in memory."""
        return cls(name, image_type(data[:HEAD]), len(data), fault=fault_of(data), read=lambda: data)

    def about(self) -> dict[str, Any]:
        """What a record says of it."""
        return {
            "name": self.name,
            "media_type": self.media_type,
            "size": self.size,
            "digest": self.digest,
            "fault": self.fault,
        }


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


def fault_of(data: bytes) -> str:
    """Why a picture cannot be sent, empty if it can.

    An endpoint that is sent half a picture refuses the request, and every later one that repeats it.
    """
    if len(data) > LARGEST:
        return "large"
    kind = image_type(data[:HEAD])
    if kind == "image/webp":
        whole = len(data) >= int.from_bytes(data[4:8], "little") + 8
    else:
        whole = kind in _ENDS and _ENDS[kind] in data[-_TAIL:] and len(data) > 2 * HEAD
    return "" if whole else "damaged"


def with_pictures(messages: Iterable[Message], language: Language) -> list[dict[str, Any]]:
    """The messages as they are sent, with their pictures in them; reads and encodes, so it may take a while.

    Where there are too many for one request the older ones are left out, several at a time, so that what was
    sent before changes seldom.
    """
    given = [dict(message) for message in messages]
    shown = _shown([picture for message in given for picture in message.get(PICTURES_KEY, ())])
    sent: list[dict[str, Any]] = []
    waiting: list[dict[str, Any]] = []
    for message in given:
        parts = [part for each in message.pop(PICTURES_KEY, ()) for part in _parts(each, shown, language)]
        if waiting and message["role"] != "tool":
            sent.append(_following(waiting, language))
            waiting = []
        if parts and message["role"] == "tool":
            waiting += parts
        elif parts:
            message["content"] = [*_as_parts(message.get("content")), *parts]
        sent.append(message)
    return [*sent, *([_following(waiting, language)] if waiting else [])]


def pictures_field(pictures: Sequence[Picture]) -> dict[str, Any]:
    """What a message that brings these pictures has beside its content."""
    return {PICTURES_KEY: tuple(pictures)} if pictures else {}


async def with_pictures_in_thread(messages: list[dict[str, Any]], language: Language) -> list[dict[str, Any]]:
    """What `with_pictures` gives, made beside the event loop where there is anything to make."""
    if not any(message.get(PICTURES_KEY) for message in messages):
        return messages
    return await asyncio.to_thread(with_pictures, messages, language)


def _shown(pictures: Sequence[Picture]) -> set[int]:
    """The identities of those that are sent: all while they are few, else what fits into half the room."""
    kept: list[Picture] = []
    for picture in pictures:
        if picture.fault:
            continue
        kept.append(picture)
        if len(kept) > MOST or sum(each.size for each in kept) > MOST_BYTES:
            kept = _newest(kept)
    return {id(picture) for picture in kept}


def _newest(pictures: list[Picture]) -> list[Picture]:
    kept, size = pictures[-1:], pictures[-1].size
    for picture in reversed(pictures[:-1]):
        size += picture.size
        if len(kept) >= MOST // 2 or size > MOST_BYTES // 2:
            break
        kept.insert(0, picture)
    return kept


def _parts(picture: Picture, shown: set[int], language: Language) -> Iterator[dict[str, Any]]:
    fault = picture.fault or ("" if id(picture) in shown else "older")
    data = None if fault else picture.read()
    if data is None:
        yield _text(phrase(language, f"picture.{fault or 'gone'}", name=picture.name, **_numbers(picture)))
        return
    yield _text(phrase(language, "picture.named", name=picture.name))
    url = f"data:{picture.media_type};base64,{b64encode(data).decode()}"
    yield {"type": "image_url", "image_url": {"url": url}}


def _numbers(picture: Picture) -> dict[str, str]:
    return {"size": f"{picture.size / 2**20:.1f}", "limit": f"{LARGEST / 2**20:g}", "most": str(MOST)}


def _following(parts: list[dict[str, Any]], language: Language) -> dict[str, Any]:
    return {"role": "user", "content": [_text(phrase(language, "picture.results")), *parts]}


def _as_parts(content: Any) -> list[Any]:
    return [_text(content)] if isinstance(content, str) else list(content or ())


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
