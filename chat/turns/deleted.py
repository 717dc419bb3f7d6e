"""Deleted conversations and users: stops their turns, and removes what is theirs."""

from __future__ import annotations

import logging
import time
import uuid
from typing import TYPE_CHECKING

from asgiref.sync import async_to_sync
from django.contrib.auth import get_user_model
from django.db import transaction
from django.utils import timezone

from chat.database import in_database
from chat.files.conversation_workspace import remove_workspace
from chat.live.broadcast import notify_stop
from chat.live.socket_auth import close_sockets_of
from chat.models import BulkAct, Conversation, Tag, Turn
from chat.models.bulk import UNDO_TIME

if TYPE_CHECKING:
    from django.contrib.auth.models import User

log = logging.getLogger(__name__)

TURNS_PER_TRANSACTION = 20
STOP_TIMEOUT = 10.0  # seconds for workers to stop the turns of a deleted user; they look every two


def stop_deleted() -> list[int]:
    """Ask active turns of deleted conversations to stop; returns the keys of those newly asked."""
    active = Turn.objects.filter(status__in=Turn.ACTIVE, stop_requested_at__isnull=True)
    turns = list(active.filter(conversation__deleted_at__isnull=False))
    for turn in turns:
        turn.request_stop()
    return [turn.pk for turn in turns]


def overdue() -> list[uuid.UUID]:
    """Keys of conversations whose deletion can no longer be undone, longest deleted first."""
    deleted = Conversation.with_deleted.filter(deleted_at__lte=timezone.now() - UNDO_TIME)
    return list(deleted.order_by("deleted_at").values_list("pk", flat=True))


async def remove_deleted(keys: list[uuid.UUID]) -> None:
    """Remove these conversations with everything in them. A failure is retried at the next call."""
    for key in keys:
        try:
            await in_database(remove, key)
        except Exception:
            log.exception("removing deleted conversation %s failed, will be retried", key)
    await in_database(BulkAct.forget_old)


def remove(key: uuid.UUID) -> None:
    """Remove one conversation's rows and files. Safe to repeat, also after a crash."""
    # Files before rows, or a crash in between would leave files that no row refers to.
    remove_workspace(key)
    conversation = Conversation.with_deleted.filter(pk=key).first()
    if conversation:
        _remove_turns(conversation)
        with transaction.atomic():
            Tag.lock_owner(conversation.owner_id)
            conversation.delete()
            Tag.delete_unused(conversation.owner_id)
    remove_workspace(key)  # files written until the turn lost its row


def remove_user(user: User) -> None:
    """Remove an account with its conversations, their files, and whatever else is the user's.

    Call it outside a transaction. Safe to repeat, also after a crash.
    """
    user_id = user.pk
    get_user_model()._default_manager.filter(pk=user_id).update(is_active=False)  # so that nothing new begins
    async_to_sync(close_sockets_of)(user_id)
    conversations = Conversation.with_deleted.filter(owner=user_id)
    conversations.update(deleted_at=timezone.now() - UNDO_TIME)  # after a crash a worker removes them
    for turn_id in stop_deleted():
        async_to_sync(notify_stop)(turn_id)
    _wait_for_workers(user_id)
    for key in list(conversations.values_list("pk", flat=True)):
        remove(key)
    user.delete()


def _wait_for_workers(user_id: int) -> None:
    """Wait until none runs a turn of the user's, or its command could write files after their removal."""
    running = Turn.objects.filter(conversation__owner=user_id, status=Turn.Status.RUNNING)
    deadline = time.monotonic() + STOP_TIMEOUT
    while running.exists() and time.monotonic() < deadline:
        time.sleep(0.05)


def _remove_turns(conversation: Conversation) -> None:
    """Remove turns in small batches, latest first, and pause: SQLite has one writer at a time."""
    while keys := list(
        conversation.turns.order_by("-pk").values_list("pk", flat=True)[:TURNS_PER_TRANSACTION]
    ):
        began = time.monotonic()
        with transaction.atomic():
            Turn.objects.filter(pk__in=keys).delete()
        time.sleep(min(time.monotonic() - began, 1.0))
