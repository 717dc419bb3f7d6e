"""Summaries: what the model reads in place of turns that have become too long for it."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from chat.models.side_call import SideCall
from chat.models.turn import Turn

AHEAD = -2  # the place ahead of all that belongs to a step


class Summary(models.Model):
    """From step `number` of `turn` on, the model reads `carried` in place of all up to the turn `until`.

    That turn is gone whole, or only its steps up to `until_step`; the person's own words in it stay then.
    `text` is the summary that `carried` holds, empty where none could be had.
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
    def of(cls, line: Sequence[int]) -> Summary | None:
        """The one that stands for the beginning of those turns (keys, oldest first); None if none does."""
        earlier = Q(until__in=line[:-1]) | Q(until=line[-1], until_step__isnull=False)
        return cls.objects.filter(earlier).order_by("pk").last()

    @property
    def dom_id(self) -> str:
        """Its id on the page."""
        return f"summary-{self.pk}"

    @property
    def place(self) -> tuple[int, int]:
        """Where it stands in its turn: step, then place in the step."""
        return (self.number, AHEAD)
