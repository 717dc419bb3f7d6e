"""Steps: one call of the model within a turn."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from chat.models.turn import Turn


class Step(models.Model):
    """One request to the model and what its reply cost; tokens are the endpoint's own count."""

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="steps")
    number = models.PositiveIntegerField()
    reminder = models.TextField(blank=True)
    finish_reason = models.CharField(max_length=40, blank=True)
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    cached_tokens = models.PositiveIntegerField(default=0)
    reasoning_tokens = models.PositiveIntegerField(default=0)
    started_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("step")
        verbose_name_plural = _("steps")
        ordering = ["turn", "number"]
        constraints = [models.UniqueConstraint(fields=["turn", "number"], name="step_number_once")]

    def __str__(self) -> str:
        return f"step {self.number} of turn {self.turn_id}"
