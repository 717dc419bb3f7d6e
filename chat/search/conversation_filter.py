"""ConversationFilter: filters by status, profile, plan, and day of the last message."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Subquery
from django.utils import timezone

from chat.models import TodoRevision, Turn
from chat.models.conversation_queries import ConversationQuerySet

# The last turn's statuses, by the filter's value.
STATUSES = {str(status): [status] for status in Turn.Status} | {"running": ["queued", "running"]}


@dataclass(frozen=True)
class ConversationFilter:
    """Criteria for conversations; empty ones match all. Days are in the site's time zone, both inclusive."""

    status: str = ""
    todos: str = ""  # some: it has a plan; unfinished: with open items
    profile: int | None = None
    first: datetime.date | None = None
    last: datetime.date | None = None

    @property
    def query_params(self) -> dict[str, str]:
        params = {
            "status": self.status,
            "todos": self.todos,
            "profile": self.profile,
            "from": self.first,
            "to": self.last,
        }
        return {name: str(value) for name, value in params.items() if value}

    def apply(self, conversations: ConversationQuerySet) -> ConversationQuerySet:
        return self._by_day(self._by_todos(self._by_turn(conversations)))

    def _by_turn(self, conversations: ConversationQuerySet) -> ConversationQuerySet:
        if self.profile is not None:
            conversations = conversations.filter(profile=self.profile)
        if not self.status:
            return conversations
        path = Turn.objects.filter(conversation=OuterRef("pk"), on_path=True)
        last = path.order_by("-pk").values("status")[:1]
        return conversations.alias(stands=Subquery(last)).filter(stands__in=STATUSES[self.status])

    def _by_todos(self, conversations: ConversationQuerySet) -> ConversationQuerySet:
        if self.todos == "unfinished":
            return conversations.unfinished()
        if self.todos == "some":
            return conversations.filter(Exists(TodoRevision.objects.filter(conversation=OuterRef("pk"))))
        return conversations

    def _by_day(self, conversations: ConversationQuerySet) -> ConversationQuerySet:
        if self.first:
            conversations = conversations.filter(updated_at__gte=_at(self.first, datetime.time.min))
        if self.last:
            conversations = conversations.filter(updated_at__lte=_at(self.last, datetime.time.max))
        return conversations


def _at(day: datetime.date, time: datetime.time) -> datetime.datetime:
    return timezone.make_aware(datetime.datetime.combine(day, time))
