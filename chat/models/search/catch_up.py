"""Catching up: conversations that the index does not hold yet, such as those from before there was one."""

from __future__ import annotations

import time

from django.db.models import Exists, OuterRef

from chat.models.conversation import Conversation, ConversationQuerySet
from chat.models.search.index import reindex
from chat.models.search.shelf import EDITION, SearchShelf
from chat.models.turn import Turn


def unindexed() -> ConversationQuerySet:
    """Conversations whose entries are not all there, or are those of an earlier edition.

    Those with a marked turn are not among them: they are indexed within a moment.
    """
    current = SearchShelf.objects.filter(conversation=OuterRef("pk"), edition=EDITION)
    marked = Turn.objects.filter(conversation=OuterRef("pk"), unindexed_at__isnull=False)
    found: ConversationQuerySet = Conversation.objects.filter(~Exists(current), ~Exists(marked))
    return found


def is_complete() -> bool:
    """Whether nothing is left to index: two counts, where `unindexed` looks at every conversation."""
    indexed = SearchShelf.objects.filter(edition=EDITION).count()
    return indexed == Conversation._base_manager.count()


def catch_up(seconds: float) -> bool:
    """Index what is missing, the newest first, for so many seconds or little longer; True if more is left.

    Each conversation is a transaction of its own, between which turns have the database to themselves.
    """
    end = time.monotonic() + seconds
    for conversation in unindexed()[:100]:
        reindex(conversation)
        if time.monotonic() > end:
            break
    return unindexed().exists()
