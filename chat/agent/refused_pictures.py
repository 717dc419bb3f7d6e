"""Pictures that an endpoint refuses: left out, or every later request would be refused for them too."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from chat.agent.model import ModelError
from chat.agent.pictures import MARK, Picture

# An endpoint's complaint about a picture that it was sent, and none about pictures as such.
ABOUT_A_PICTURE = re.compile(r"\b(?:image|picture|photo|media)s?\b|image_url|base64", re.IGNORECASE)
_KINDS = ("refused", "reported", "unavailable")

Message = Mapping[str, Any]


def refused_by(error: ModelError, messages: Sequence[Message]) -> tuple[Picture, ...]:
    """The pictures that the error is about: the new ones, or all where none is new; none for another error.

    New are those that no reply has followed yet.
    """
    if error.kind not in _KINDS or not ABOUT_A_PICTURE.search(str(error.values.get("detail", ""))):
        return ()
    said = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
    # The latest reply may be the one that asked for the pictures, so what follows it is new.
    new = _sent(messages[said[-1] + 1 :] if said else messages)
    return new or _sent(messages)


def without(messages: Sequence[Message], pictures: Sequence[Picture]) -> list[dict[str, Any]]:
    """The messages with these pictures named as refused."""
    return [
        {**message, MARK: tuple(_refused(each, pictures) for each in message[MARK])}
        if MARK in message
        else dict(message)
        for message in messages
    ]


def _sent(messages: Sequence[Message]) -> tuple[Picture, ...]:
    return tuple(each for message in messages for each in message.get(MARK, ()) if not each.fault)


def _refused(picture: Picture, refused: Sequence[Picture]) -> Picture:
    return replace(picture, fault="refused") if picture in refused else picture
