"""Plan counts: how far a conversation's plan figures have been counted."""

from __future__ import annotations

import uuid
from typing import Any

from django.db import models
from django.db.models import F, Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from chat.models.conversation import Conversation
from chat.models.todo_revision import TodoRevision
from chat.models.turn import Turn

VERSION = 1  # of how figures are defined: those of another are counted anew


class PlanCount(models.Model):
    """The latest ended turn and the latest revision that a conversation's figures know, 0 for none."""

    conversation = models.OneToOneField(
        Conversation, on_delete=models.CASCADE, primary_key=True, related_name="plan_count"
    )
    turn = models.PositiveBigIntegerField(default=0)
    revision = models.PositiveBigIntegerField(default=0)
    version = models.PositiveSmallIntegerField(default=0)

    class Meta:
        verbose_name = _("plan count")
        verbose_name_plural = _("plan counts")

    def __str__(self) -> str:
        return f"up to turn {self.turn} and revision {self.revision}"

    @classmethod
    def behind(cls, conversations: QuerySet[Conversation]) -> QuerySet[Any]:
        """Those of the conversations of which something is not counted yet.

        Each with what there is to count up to: `latest_turn` and `latest_revision`.
        """
        ended = Turn.objects.filter(conversation=OuterRef("pk")).exclude(status__in=Turn.ACTIVE)
        revisions = TodoRevision.objects.filter(conversation=OuterRef("pk"))
        reached = conversations.annotate(latest_turn=_latest(ended), latest_revision=_latest(revisions))
        known = Q(
            plan_count__turn=F("latest_turn"),
            plan_count__revision=F("latest_revision"),
            plan_count__version=VERSION,
        )
        return reached.filter(latest_turn__gt=0).exclude(known)

    @classmethod
    def is_past(cls, conversation_id: uuid.UUID, turn: int, revision: int) -> bool:
        """Whether somebody has counted the conversation further than that, in today's way."""
        further = Q(turn__gt=turn) | Q(revision__gt=revision)
        return cls.objects.filter(further, conversation=conversation_id, version=VERSION).exists()


def _latest(rows: QuerySet[Turn] | QuerySet[TodoRevision]) -> Coalesce:
    """The highest key among the rows of one conversation; 0 for none."""
    grouped = rows.order_by().values("conversation").annotate(latest=Max("pk"))
    return Coalesce(Subquery(grouped.values("latest")), 0)
