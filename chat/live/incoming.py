"""What comes in over a page's socket: messages of the person, and the page's word on what has arrived."""

from __future__ import annotations

import json
import uuid
from typing import Any

from django.utils.translation import gettext as _

MAX_FRAME = 256 * 1024  # characters of one incoming frame
MAX_KEY = 10**18
MAX_DIGEST = 64  # characters


def content_of(data: str | None) -> dict[str, Any]:
    """What an incoming frame holds; raises ValueError with a sentence."""
    if data is None or len(data) > MAX_FRAME:
        raise ValueError(_("This frame is not a message: it must be a JSON object of at most 256 KiB."))
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise _no_message()
    return content


def message_of(content: dict[str, Any]) -> tuple[str, uuid.UUID]:
    """Text and client id of a message; raises ValueError with a sentence."""
    try:
        text = content["text"]
        client_id = uuid.UUID(content["client_id"]) if "client_id" in content else uuid.uuid4()
    except (ValueError, TypeError, KeyError, AttributeError):
        raise _no_message() from None
    if not isinstance(text, str):
        raise ValueError(_("The text of a message must be a string."))
    return text, client_id


def receipt_of(content: dict[str, Any]) -> tuple[int, int | None]:
    """The number of the latest drawing that a page has; and the turn up to which it has all, if it lacks any.

    Raises ValueError with a sentence.
    """
    at, after = content["at"], content.get("after")
    if not isinstance(at, int) or not isinstance(after, int | None):
        raise _no_message()
    return at, None if after is None else min(after, MAX_KEY)


def seen_of(content: dict[str, Any]) -> int:
    """The turn up to which the person looks at a conversation; raises ValueError with a sentence."""
    seen = content["seen"]
    if not isinstance(seen, int):
        raise _no_message()
    return max(0, min(seen, MAX_KEY))


def digest_of(content: dict[str, Any]) -> str:
    """Which list a page shows in its sidebar; raises ValueError with a sentence."""
    digest = content["sidebar"]
    if not isinstance(digest, str):
        raise _no_message()
    return digest[:MAX_DIGEST]


def turn_after(query: bytes) -> int:
    """The turn up to which a page has all, as its socket's address says: `after=N`; 0 for anything else."""
    name, _equals, value = query.decode("latin-1").partition("=")
    return int(value) if name == "after" and value.isdecimal() and len(value) < 19 else 0


def _no_message() -> ValueError:
    return ValueError(_("This frame is not a message: it must be a JSON object with a text and a client_id."))
