"""The pictures embedded in an exported file, up to a total size."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

from chat.agent.pictures import HEAD, data_url, image_type
from chat.agent.workspace import WorkspaceError
from chat.files.archive import opened_file
from chat.files.conversation_workspace import workspace_of
from chat.files.pictures import PictureStore
from chat.files.preview import SVG_HEAD, picture_type
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
    """Reads pictures until the total exceeds MAX_PICTURE_BYTES; each digest or path counts once."""

    def __init__(self, conversation: Conversation) -> None:
        self._store = PictureStore(conversation.pk)
        self._workspace = workspace_of(conversation)
        self._counted: set[str] = set()
        self._size = 0

    def data(self, digest: str) -> bytes | None:
        data = self._store.read(digest)
        if data is None or not image_type(data[:HEAD]):
            return None
        return data if self._count(digest, len(data)) else None

    def _count(self, name: str, size: int) -> bool:
        """Whether there is room for it; what was counted before has room."""
        if name not in self._counted:
            if self._size + size > MAX_PICTURE_BYTES:
                return False
            self._counted.add(name)
            self._size += size
        return True

    def address(self, digest: str) -> str:
        data = self.data(digest)
        return data_url(image_type(data[:HEAD]), data) if data else ""

    def picture(self, path: str) -> str:
        """The URL of a picture of the workspace as it is now; "" if it is no picture or too large."""
        try:
            with opened_file(self._workspace, path) as file:
                kind = picture_type(path, os.pread(file, SVG_HEAD, 0))
                size = os.fstat(file).st_size
                if not kind or not self._count(f"/{path}", size):
                    return ""
                return data_url(kind, os.pread(file, size, 0))
        except WorkspaceError:
            return ""

    def file(self, _path: str) -> str:
        """An exported page has no other files with it."""
        return ""

    def rows(self, digests: list[str]) -> Iterator[dict[str, str | None]]:
        for digest in digests:
            data = self.data(digest)
            yield {"digest": digest, "data": b64encode(data).decode() if data else None}
