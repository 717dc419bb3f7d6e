"""What a person writes to the agent, as it is stored, and the title that is made of it."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from chat.models.text import clean

MAX_MESSAGE_BYTES = 64 * 1024
TITLE_LENGTH = 80


class MessageRefused(ValueError):  # noqa: N818 (a refusal, told to the person who wrote the message)
    """The message starts no turn; the text says why, to the person who wrote it."""


def checked_message(text: str) -> str:
    """The text of a message as it is stored; raises MessageRefused for one that is blank or above 64 KiB."""
    text = clean(text).replace("\r\n", "\n").strip()
    if not text:
        raise MessageRefused(_("The message is empty."))
    if len(text.encode()) > MAX_MESSAGE_BYTES:
        raise MessageRefused(
            _("The message is longer than 64 KiB. Shorten it, or attach the text as a file.")
        )
    return text


def title_of(text: str) -> str:
    """A title made of a message's first line."""
    line = " ".join(text.splitlines()[0].split())
    return line if len(line) <= TITLE_LENGTH else f"{line[: TITLE_LENGTH - 1].rstrip()}…"
