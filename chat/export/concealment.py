"""What must not leave the site, wherever it got into the rows: keys, and where a workspace lies.

No row holds a key of a connection's. But a command outside the sandbox may have printed one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.utils.html import escape

from chat.agent.workspace import MOUNT
from chat.files.place import folder_of
from chat.models import Connection, Conversation
from chat.models.seal import SealBrokenError

SHORTEST = 8  # characters; less is no secret, and would be found in every second text
LEFT_OUT = "[left out]"


class Concealment:
    """Takes the secrets that this site knows out of texts."""

    def __init__(self, conversation: Conversation) -> None:
        folder = str(folder_of(conversation))
        found = {secret: LEFT_OUT for secret in _secrets(conversation) if len(secret) >= SHORTEST}
        found |= {folder: MOUNT} if len(folder) >= SHORTEST else {}
        found |= {escape(secret): instead for secret, instead in found.items()}
        self._instead = found
        longest_first = sorted(found, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")

    def text(self, text: str) -> str:
        """The text without them."""
        return self._pattern.sub(lambda match: self._instead[match[0]], text)

    def value(self, value: Any) -> Any:
        """The JSON value with such texts in it."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(name): self.value(each) for name, each in value.items()}
        return [self.value(each) for each in value] if isinstance(value, list) else value


def _secrets(conversation: Conversation) -> Iterator[str]:
    yield from (settings.SECRET_KEY, settings.MODEL_API_KEY or "", settings.METRICS_TOKEN)
    for connection in Connection.objects.filter(Q(owner=None) | Q(owner=conversation.owner_id)):
        try:
            opened = connection.opened
        except SealBrokenError:
            continue
        yield opened.key
        yield from opened.headers.values()
