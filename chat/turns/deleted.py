"""Deleted conversations: what runs in them is stopped, and they are removed once nobody can undo that."""

from __future__ import annotations

import logging
import time
import uuid

from django.db import transaction
from django.utils import timezone

from chat.database import in_database
from chat.files.conversation_workspace import remove_workspace
from chat.models import BulkAct, Conversation, Tag, Turn
from chat.models.bulk import UNDO_TIME

log = logging.getLogger(__name__)

AT_ONCE = 20  # turns removed in one transaction


def stop_deleted() -> list[int]:
    """Ask every turn of a deleted conversation to stop that was not asked yet; says which."""
    at_work = Turn.objects.filter(status__in=Turn.ACTIVE, stop_requested_at__isnull=True)
    turns = list(at_work.filter(conversation__deleted_at__isnull=False))
    for turn in turns:
        turn.request_stop()
    return [turn.pk for turn in turns]


def overdue() -> list[uuid.UUID]:
    """The conversations whose deletion can no longer be undone, longest deleted first."""
    deleted = Conversation.with_deleted.filter(deleted_at__lte=timezone.now() - UNDO_TIME)
    return list(deleted.order_by("deleted_at").values_list("pk", flat=True))


async def remove_deleted(keys: list[uuid.UUID]) -> None:
    """Remove these with all that belongs to them. What fails is tried again at the next round."""
    for key in keys:
        try:
            await in_database(remove, key)
        except Exception:
            log.exception("deleted conversation %s is not removed yet", key)
    await in_database(BulkAct.forget_old)


def remove(key: uuid.UUID) -> None:
    """Remove one with its rows and files; harmless where that was done before, or half done."""
    # Files before rows: were it the other way round, a crash in between would leave files that nobody knows.
    remove_workspace(key)
    conversation = Conversation.with_deleted.filter(pk=key).first()
    if conversation:
        _remove_turns(conversation)
        with transaction.atomic():
            Tag.keep_still(conversation.owner_id)
            conversation.delete()
            Tag.sweep(conversation.owner_id)
    remove_workspace(key)  # what was still being written when its turn lost its row


def _remove_turns(conversation: Conversation) -> None:
    """Remove the turns a few at a time, the latest first: SQLite lets nobody else write meanwhile."""
    while keys := list(conversation.turns.order_by("-pk").values_list("pk", flat=True)[:AT_ONCE]):
        began = time.monotonic()
        with transaction.atomic():
            Turn.objects.filter(pk__in=keys).delete()
        time.sleep(min(time.monotonic() - began, 1.0))
