"""Conversations as they may be asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models import Exists, OuterRef, QuerySet, Subquery

from chat.models.tag import folded, normalised
from chat.models.todo_revision import TodoRevision
from chat.models.turn import Turn

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

    from chat.models.conversation import Conversation


class ConversationQuerySet(QuerySet["Conversation"]):
    """Conversations as they may be asked for."""

    def visible_to(self, user: User | AnonymousUser) -> ConversationQuerySet:
        """Those that the user may see: their own, archived ones too, deleted ones never."""
        return self.kept().filter(owner_id=user.pk) if user.pk else self.none()

    def kept(self) -> ConversationQuerySet:
        """Those that are not deleted."""
        return self.filter(deleted_at__isnull=True)

    def current(self) -> ConversationQuerySet:
        """Those that are not in the archive."""
        return self.filter(archived_at__isnull=True)

    def archived(self) -> ConversationQuerySet:
        """Those that are in the archive."""
        return self.filter(archived_at__isnull=False)

    def pinned_first(self) -> ConversationQuerySet:
        """The pinned ones ahead of the others, each kind with the newest first."""
        return self.order_by("-pinned", "-updated_at", "-pk")

    def unfinished(self) -> ConversationQuerySet:
        """Those whose last list has open items that nobody dismissed."""
        return self.filter(todos_left__gt=0)

    def unseen(self) -> ConversationQuerySet:
        """Those in which a turn ended while their owner did not look."""
        return self.filter(unseen_turn__isnull=False)

    def tagged(self, word: str) -> ConversationQuerySet:
        """Those that have their owner's tag of that word, however it is written."""
        return self.filter(tags__folded=folded(normalised(word)))

    def listed(self, start: int, stop: int) -> list[Conversation]:
        """Those from place `start` up to `stop`, with their latest lists as `plan`, in two queries."""
        latest = TodoRevision.objects.filter(conversation=OuterRef("pk")).order_by("-pk")
        waiting = Turn.objects.filter(conversation=OuterRef("pk"), status=Turn.Status.WAITING)
        found = self.annotate(latest=Subquery(latest.values("pk")[:1]), waiting=Exists(waiting))
        rows: list[Any] = list(found[start:stop])
        plans = TodoRevision.objects.in_bulk([row.latest for row in rows if row.latest])
        for row in rows:
            row.plan, row.waits = plans.get(row.latest), row.waiting
        return rows


_Manager = models.Manager.from_queryset(ConversationQuerySet)


class ConversationManager(_Manager["Conversation"]):
    """All conversations but the deleted ones, of which nobody is to see anything."""

    def get_queryset(self) -> ConversationQuerySet:
        """Those that are kept."""
        return ConversationQuerySet(self.model, using=self._db).kept()
