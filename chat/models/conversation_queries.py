"""Queries for conversations: whose, which of them, in what order, and with what a list shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery

from chat.models.share_link import ShareLink
from chat.models.tag import Tag, folded, normalised
from chat.models.todo_revision import TodoRevision
from chat.models.turn import Turn

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

    from chat.models.conversation import Conversation


class ConversationQuerySet(QuerySet["Conversation"]):
    def visible_to(self, user: User | AnonymousUser) -> ConversationQuerySet:
        """The user's own conversations, archived ones included, deleted ones not."""
        return self.kept().filter(owner_id=user.pk) if user.pk else self.none()

    def kept(self) -> ConversationQuerySet:
        return self.filter(deleted_at__isnull=True)

    def current(self) -> ConversationQuerySet:
        return self.filter(archived_at__isnull=True)

    def archived(self) -> ConversationQuerySet:
        return self.filter(archived_at__isnull=False)

    def pinned_first(self) -> ConversationQuerySet:
        return self.order_by("-pinned", "-updated_at", "-pk")

    def archived_last(self) -> ConversationQuerySet:
        """Behind the current ones, which are as `pinned_first` has them."""
        is_archived = models.ExpressionWrapper(Q(archived_at__isnull=False), models.BooleanField())
        return self.order_by(is_archived, "-pinned", "-updated_at", "-pk")

    def unfinished(self) -> ConversationQuerySet:
        return self.filter(todos_left__gt=0)

    def shared(self) -> ConversationQuerySet:
        """Those that somebody can read by a link."""
        return self.filter(Exists(ShareLink.live().filter(conversation=OuterRef("pk"))))

    def unseen(self) -> ConversationQuerySet:
        """Those with a turn that ended while the owner was not looking."""
        return self.filter(unseen_turn__isnull=False)

    def tagged(self, word: str) -> ConversationQuerySet:
        """Those with this tag of their owner's, in any spelling of the word."""
        return self.filter(tags__folded=folded(normalised(word)))

    def with_live_links(self) -> ConversationQuerySet:
        """With `live_links`, the number of links that are live; None where there is none."""
        links = ShareLink.live().filter(conversation=OuterRef("pk")).order_by().values("conversation")
        return self.annotate(live_links=Subquery(links.annotate(number=Count("pk")).values("number")))

    def listed(self, start: int, stop: int) -> list[Conversation]:
        """The rows from `start` to `stop` with `plan` (the latest list), the statuses and tags.

        At most three queries.
        """
        lists = TodoRevision.objects.filter(conversation=OuterRef("pk"), turn__on_path=True)
        latest = lists.order_by("-pk")
        turns = Turn.objects.filter(conversation=OuterRef("pk"), on_path=True).order_by("-pk")
        conversations = self.annotate(
            latest=Subquery(latest.values("pk")[:1]),
            status=Subquery(turns.values("status")[:1]),
            unseen=F("unseen_turn__status"),
            is_tagged=Exists(Tag.objects.filter(conversations=OuterRef("pk"))),
        )
        rows: list[Any] = list(conversations[start:stop])
        plans = TodoRevision.objects.in_bulk([row.latest for row in rows if row.latest])
        for row in rows:
            row.plan, row.unseen_status = plans.get(row.latest), row.unseen or ""
            row.active_status = row.status if row.status in Turn.ACTIVE else ""
            row.has_failed = row.status == Turn.Status.FAILED
            row.known_words = []
        _read_words([row for row in rows if row.is_tagged])
        return rows


def _read_words(tagged: list[Conversation]) -> None:
    models.prefetch_related_objects(tagged, "tags")
    for row in tagged:
        row.known_words = [tag.word for tag in row.tags.all()]


_Manager = models.Manager.from_queryset(ConversationQuerySet)


class ConversationManager(_Manager["Conversation"]):
    """Conversations that are not deleted."""

    def get_queryset(self) -> ConversationQuerySet:
        return ConversationQuerySet(self.model, using=self._db).kept()
