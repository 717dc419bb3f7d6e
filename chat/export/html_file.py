"""A conversation as one HTML file that needs neither this site, nor a network, nor a script."""

from __future__ import annotations

from collections.abc import Iterator

from django.contrib.staticfiles.storage import staticfiles_storage
from django.utils import timezone

from chat.export.page import page_pieces
from chat.export.pictures import Pictures
from chat.export.reading import Reading
from chat.export.record import Record
from chat.models import Conversation


def html_pieces(conversation: Conversation) -> Iterator[str]:
    """The file's text. Pictures are within it, as many as there is room for; the others are named."""
    record = Record.whole(conversation)
    reading = Reading(picture=Pictures(conversation).address)
    more = {"styles": _styles(), "now": timezone.now(), "follow_ups": record.follow_ups()}
    return page_pieces(record, reading, "reading/file.html", **more)


def _styles() -> str:
    with staticfiles_storage.open("app.css") as file:
        return str(file.read().decode())
