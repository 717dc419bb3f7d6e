"""Conversations as they may be asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Exists, OuterRef, QuerySet, Subquery

from chat.models.todo_revision import TodoRevision
from chat.models.turn import Turn

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

    from chat.models.conversation import Conversation


class ConversationQuerySet(QuerySet["Conversation"]):
    """Conversations as they may be asked for."""

    def visible_to(self, user: User | AnonymousUser) -> ConversationQuerySet:
        """Those that the user may see: their own."""
        return self.filter(owner_id=user.pk) if user.pk else self.none()

    def unfinished(self) -> ConversationQuerySet:
        """Those whose last list has open items that nobody dismissed."""
        return self.filter(todos_left__gt=0)

    def unseen(self) -> ConversationQuerySet:
        """Those in which a turn ended while their owner did not look."""
        return self.filter(unseen_turn__isnull=False)

    def listed(self, start: int, stop: int) -> list[Conversation]:
        """Those from place `start` up to `stop`, with their latest lists as `plan`, in three queries."""
        latest = TodoRevision.objects.filter(conversation=OuterRef("pk")).order_by("-pk")
        waiting = Turn.objects.filter(conversation=OuterRef("pk"), status=Turn.Status.WAITING)
        found = self.values_list("pk", Subquery(latest.values("pk")[:1]), Exists(waiting))[start:stop]
        keys = {pk: (plan, waits) for pk, plan, waits in found}
        rows = self.in_bulk(list(keys))
        plans = TodoRevision.objects.in_bulk([plan for plan, _waits in keys.values() if plan])
        for pk, row in rows.items():
            plan, row.waits = keys[pk]
            row.plan = plans.get(plan)
        return [rows[pk] for pk in keys if pk in rows]  # one may be deleted meanwhile
