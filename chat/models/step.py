"""Steps: calls of the model within a turn; side calls and summaries."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chat.models.turn import Turn


class ModelCall(models.Model):
    """Usage of a call; tokens are the endpoint's count unless `estimated`, `cost` is None without prices."""

    endpoint = models.CharField(max_length=500, blank=True)
    model = models.CharField(max_length=200, blank=True)
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    cached_tokens = models.PositiveIntegerField(default=0)
    reasoning_tokens = models.PositiveIntegerField(default=0)
    estimated = models.BooleanField(default=False)
    cost = models.DecimalField(max_digits=16, decimal_places=8, null=True)
    currency = models.CharField(max_length=3, blank=True)
    started_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True


class Step(ModelCall):
    """One request to the model. `reminder` and `edit_note` (the user's list edits) were sent with it."""

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="steps")
    number = models.PositiveIntegerField()
    reminder = models.TextField(blank=True)
    edit_note = models.TextField(blank=True)
    finish_reason = models.CharField(max_length=40, blank=True)

    class Meta:
        verbose_name = _("step")
        verbose_name_plural = _("steps")
        ordering = ["turn", "number"]
        constraints = [models.UniqueConstraint(fields=["turn", "number"], name="step_number_once")]

    def __str__(self) -> str:
        return f"step {self.number} of turn {self.turn_id}"


class SideCall(ModelCall):
    """A model call outside the steps: for a title or a summary."""

    class Purpose(models.TextChoices):
        TITLE = "title", _("Title")
        SUMMARY = "summary", _("Summary")

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="side_calls")
    purpose = models.CharField(max_length=10, choices=Purpose)

    class Meta:
        verbose_name = _("side call")
        verbose_name_plural = _("side calls")
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(purpose__in=["title", "summary"]), name="side_call_purpose_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.purpose} in turn {self.turn_id}"


AHEAD = -2  # sort key before everything of a step


class Summary(models.Model):
    """From step `number` of `turn` on, the model reads `carried` instead of everything up to turn `until`.

    That turn is covered completely, or up to `until_step`; then the user's own messages in it stay. `text` is
    the summary in `carried`, empty if there is none.
    """

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="summaries")
    number = models.PositiveIntegerField()
    until = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="summarised_by")
    until_step = models.PositiveIntegerField(null=True)
    text = models.TextField(blank=True)
    carried = models.TextField()
    side_call = models.OneToOneField(SideCall, on_delete=models.SET_NULL, null=True, related_name="summary")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("summary")
        verbose_name_plural = _("summaries")
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"summary in turn {self.turn_id}"

    @classmethod
    def of(cls, chain: Sequence[int]) -> Summary | None:
        """The latest summary made in these turns (keys, oldest first) of their beginning."""
        earlier = Q(until__in=chain[:-1]) | Q(until=chain[-1], until_step__isnull=False)
        return cls.objects.filter(earlier, turn__in=chain).order_by("pk").last()

    @property
    def dom_id(self) -> str:
        return f"summary-{self.pk}"

    @property
    def sort_key(self) -> tuple[int, int]:
        return (self.number, AHEAD)
