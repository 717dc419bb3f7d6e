"""Side calls: what the model is asked beside the steps of a turn."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from chat.models.model_call import ModelCall
from chat.models.turn import Turn


class SideCall(ModelCall):
    """A call of the model for the conversation's sake, of which no answer comes: a title, a summary."""

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
