"""The pictures of a conversation in a file: as many as there is room for."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator

from chat.agent.pictures import HEAD, image_type
from chat.files.pictures import PictureStore
from chat.models import Attachment, Conversation, ToolCall

MOST_BYTES = 16 * 2**20  # of pictures in one file; a third more as text


def digests_of(conversation: Conversation, upto: int | None = None) -> list[str]:
    """The digests of what messages brought and tools looked at; up to the turn `upto` if it is given."""
    within = {"turn__conversation": conversation.pk} | ({"turn__lte": upto} if upto else {})
    brought = Attachment.objects.filter(**{f"message__{name}": value for name, value in within.items()})
    found = dict.fromkeys(brought.values_list("digest", flat=True))
    if upto is None:
        held = Attachment.objects.filter(follow_up__conversation=conversation.pk)
        found |= dict.fromkeys(held.values_list("digest", flat=True))
    looked = ToolCall.objects.filter(**within, detail__has_key="pictures").order_by("pk")
    for pictures in looked.values_list("detail__pictures", flat=True):
        found |= {each["digest"]: None for each in pictures}
    found.pop("", None)
    return list(found)


class Pictures:
    """Takes pictures from an album until there is no more room; the same one counts once."""

    def __init__(self, conversation: Conversation) -> None:
        self._album = PictureStore(conversation.pk)
        self._taken: set[str] = set()
        self._size = 0

    def data(self, digest: str) -> bytes | None:
        """The bytes of the picture; None where none is kept, or there is no room."""
        data = self._album.read(digest)
        if data is None or not image_type(data[:HEAD]):
            return None
        if digest not in self._taken:
            if self._size + len(data) > MOST_BYTES:
                return None
            self._taken.add(digest)
            self._size += len(data)
        return data

    def address(self, digest: str) -> str:
        """The picture as an address that holds it whole; empty where it is left out."""
        data = self.data(digest)
        return f"data:{image_type(data[:HEAD])};base64,{b64encode(data).decode()}" if data else ""

    def rows(self, digests: list[str]) -> Iterator[dict[str, str | None]]:
        """The pictures as a JSON file has them; one that is left out has no data."""
        for digest in digests:
            data = self.data(digest)
            yield {"digest": digest, "data": b64encode(data).decode() if data else None}
