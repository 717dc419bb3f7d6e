"""The pictures embedded in an exported file, up to a total size."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Any

from chat.agent.pictures import HEAD, image_type
from chat.files.pictures import PictureStore
from chat.models import Attachment, Conversation, ToolCall

MAX_PICTURE_BYTES = 16 * 2**20  # in one file, before base64


def digests_of(conversation: Conversation, upto: int | None = None) -> list[str]:
    """The digests of attached and viewed pictures, of the path to the turn `upto` if given."""
    keys = {"turn__in": conversation.path_to(upto)} if upto else {}
    filters: dict[str, Any] = {"turn__conversation": conversation.pk} | keys
    attached = Attachment.objects.filter(**{f"message__{name}": value for name, value in filters.items()})
    digests = dict.fromkeys(attached.values_list("digest", flat=True))
    if upto is None:
        waiting = Attachment.objects.filter(follow_up__conversation=conversation.pk)
        digests |= dict.fromkeys(waiting.values_list("digest", flat=True))
    viewed = ToolCall.objects.filter(**filters, detail__has_key="pictures").order_by("pk")
    for pictures in viewed.values_list("detail__pictures", flat=True):
        digests |= {each["digest"]: None for each in pictures}
    digests.pop("", None)
    return list(digests)


class Pictures:
    """Reads pictures until the total exceeds MAX_PICTURE_BYTES; each digest counts once."""

    def __init__(self, conversation: Conversation) -> None:
        self._store = PictureStore(conversation.pk)
        self._counted: set[str] = set()
        self._size = 0

    def data(self, digest: str) -> bytes | None:
        data = self._store.read(digest)
        if data is None or not image_type(data[:HEAD]):
            return None
        if digest not in self._counted:
            if self._size + len(data) > MAX_PICTURE_BYTES:
                return None
            self._counted.add(digest)
            self._size += len(data)
        return data

    def address(self, digest: str) -> str:
        data = self.data(digest)
        return f"data:{image_type(data[:HEAD])};base64,{b64encode(data).decode()}" if data else ""

    def rows(self, digests: list[str]) -> Iterator[dict[str, str | None]]:
        for digest in digests:
            data = self.data(digest)
            yield {"digest": digest, "data": b64encode(data).decode() if data else None}
