"""What comes in over a page's socket: messages of the person, and the page's word on what has arrived."""

from __future__ import annotations

import json
import uuid
from typing import Any

from django.utils.translation import gettext as _

MAX_FRAME = 256 * 1024  # characters of one incoming frame
MAX_KEY = 10**18


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


def seen_of(content: dict[str, Any]) -> int:
    """The turn up to which the person looks at a conversation; raises ValueError with a sentence."""
    seen = content.get("turn")
    if not isinstance(seen, int):
        raise _no_message()
    return max(0, min(seen, MAX_KEY))


def _no_message() -> ValueError:
    return ValueError(_("This frame is not a message: it must be a JSON object with a text and a client_id."))
