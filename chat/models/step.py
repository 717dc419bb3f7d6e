"""Steps: one call of the model within a turn."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from chat.models.model_call import ModelCall
from chat.models.turn import Turn


class Step(ModelCall):
    """One request to the model, which its tool calls belong to.

    A `reminder` rode on it, and what the model was `told` of the person's changes to the todo list.
    """

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="steps")
    number = models.PositiveIntegerField()
    reminder = models.TextField(blank=True)
    told = models.TextField(blank=True)
    finish_reason = models.CharField(max_length=40, blank=True)

    class Meta:
        verbose_name = _("step")
        verbose_name_plural = _("steps")
        ordering = ["turn", "number"]
        constraints = [models.UniqueConstraint(fields=["turn", "number"], name="step_number_once")]

    def __str__(self) -> str:
        return f"step {self.number} of turn {self.turn_id}"
