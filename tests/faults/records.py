"""The rows of a served site, read from beside it."""

from __future__ import annotations

import uuid

import dj_database_url
from django.db import connections

from chat.models import Conversation, Turn

ALIAS = "served"


class Records:
    """Reads the database at a DATABASE_URL. Each look has a connection of its own: it may restart."""

    def __init__(self, url: str) -> None:
        known = connections.settings["default"]
        connections.settings[ALIAS] = {**known, **dj_database_url.parse(url), "OPTIONS": {}}
        self.close()

    def conversation(self, pk: uuid.UUID) -> Conversation:
        self.close()
        return Conversation.objects.using(ALIAS).get(pk=pk)

    def turns(self, conversation: uuid.UUID) -> list[Turn]:
        """Its turns with all their rows, oldest first."""
        self.close()
        return list(Turn.with_rows().using(ALIAS).filter(conversation=conversation))

    def started_with(self, client_id: uuid.UUID) -> list[Turn]:
        """The turns that a message started: none, or one."""
        self.close()
        return list(Turn.with_rows().using(ALIAS).filter(client_id=client_id))

    def active(self) -> list[Turn]:
        """Every turn that has not ended."""
        self.close()
        return list(Turn.with_rows().using(ALIAS).filter(status__in=Turn.ACTIVE))

    def close(self) -> None:
        """Leave the connection."""
        for connection in connections.all(initialized_only=True):
            if connection.alias == ALIAS:
                connection.close()
                del connections[ALIAS]
