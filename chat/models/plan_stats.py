"""Plan statistics of conversations, counted from their rows."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from chat.models.conversation import Conversation
from chat.models.todo_revision import TodoRevision
from chat.models.turn import Turn


class PlanFigures(models.Model):
    """Figures of a conversation by day, profile and policy (docs/plans.md); derived from its rows.

    The day, in the user's time zone, is when the turn began, or the turn that began a list.
    """

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="figures")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="plan_figures", db_index=False
    )
    day = models.DateField()
    profile = models.CharField(max_length=80, blank=True)
    policy = models.CharField(max_length=20, blank=True)

    turns = models.PositiveIntegerField(default=0)
    steps = models.PositiveIntegerField(default=0)
    estimated_steps = models.PositiveIntegerField(default=0)
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    written_tokens = models.PositiveBigIntegerField(default=0)
    estimated_writes = models.PositiveIntegerField(default=0)
    planning_steps = models.PositiveIntegerField(default=0)
    planning_input_tokens = models.PositiveBigIntegerField(default=0)
    planning_cached_tokens = models.PositiveBigIntegerField(default=0)
    offering_tokens = models.PositiveBigIntegerField(default=0)
    writes = models.PositiveIntegerField(default=0)
    refused = models.PositiveIntegerField(default=0)
    reminders = models.PositiveIntegerField(default=0)
    followed = models.PositiveIntegerField(default=0)
    lists = models.PositiveIntegerField(default=0)
    finished = models.PositiveIntegerField(default=0)
    finished_together = models.PositiveIntegerField(default=0)
    given_up = models.PositiveIntegerField(default=0)
    items = models.PositiveIntegerField(default=0)
    completed = models.PositiveIntegerField(default=0)
    ticked = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)
    timed = models.PositiveIntegerField(default=0)

    reasons: models.JSONField[dict[str, int], dict[str, int]] = models.JSONField(default=dict, blank=True)
    seconds: models.JSONField[list[float], list[float]] = models.JSONField(default=list, blank=True)

    class Meta:
        verbose_name = _("plan figures")
        verbose_name_plural = _("plan figures")
        ordering = ["day", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["conversation", "day", "profile", "policy"], name="plan_figures_once"
            ),
        ]
        indexes = [
            models.Index(fields=["owner", "day"], name="plan_figures_of_owner"),
            models.Index(fields=["day"], name="plan_figures_by_day"),
        ]

    def __str__(self) -> str:
        return f"{self.lists} lists on {self.day}"


COUNTS = tuple(
    field.name
    for field in PlanFigures._meta.concrete_fields
    if isinstance(field, models.PositiveIntegerField | models.PositiveBigIntegerField)
)
VERSION = 3  # of the figures' definitions; figures of another version are counted again


class PlanCount(models.Model):
    """The latest ended turn and revision that a conversation's figures include, 0 for none."""

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
    def outdated(cls, conversations: QuerySet[Conversation]) -> QuerySet[Any]:
        """The conversations with something uncounted, annotated with `latest_turn` and `latest_revision`."""
        ended = Turn.objects.filter(conversation=OuterRef("pk")).exclude(status__in=Turn.ACTIVE)
        revisions = TodoRevision.objects.filter(conversation=OuterRef("pk"))
        annotated = conversations.annotate(latest_turn=_latest(ended), latest_revision=_latest(revisions))
        up_to_date = Q(
            plan_count__turn=F("latest_turn"),
            plan_count__revision=F("latest_revision"),
            plan_count__version=VERSION,
        )
        return annotated.filter(latest_turn__gt=0).exclude(up_to_date)

    @classmethod
    def is_past(cls, conversation_id: uuid.UUID, turn: int, revision: int) -> bool:
        """Whether the conversation was already counted further than that, in the current version."""
        further = Q(turn__gt=turn) | Q(revision__gt=revision)
        return cls.objects.filter(further, conversation=conversation_id, version=VERSION).exists()


def _latest(rows: QuerySet[Turn] | QuerySet[TodoRevision]) -> Coalesce:
    grouped = rows.order_by().values("conversation").annotate(latest=Max("pk"))
    return Coalesce(Subquery(grouped.values("latest")), 0)
