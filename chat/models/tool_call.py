"""Tool calls: request and outcome of one call."""

from __future__ import annotations

import json
from typing import Any

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from chat.models.step import Step
from chat.models.turn import Turn

TODO_WRITE = "TodoWrite"


class ToolCall(models.Model):
    """One call as the model asked for it, and what came of it.

    `wire_id` is the model's id for it; `detail` is for the person only.
    """

    class Status(models.TextChoices):
        PENDING = "pending", _("Pending")
        WAITING = "waiting", _("Waiting")
        RUNNING = "running", _("Running")
        SUCCEEDED = "succeeded", _("Done")
        FAILED = "failed", _("Failed")
        DENIED = "denied", _("Denied")
        STOPPED = "stopped", _("Stopped")
        UNKNOWN = "unknown", _("Outcome unknown")

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="tool_calls")
    step = models.ForeignKey(Step, on_delete=models.CASCADE, related_name="tool_calls")
    index = models.PositiveIntegerField()
    wire_id = models.CharField(max_length=200)
    name = models.CharField(max_length=200)
    arguments = models.TextField(blank=True)
    extra = models.JSONField(default=dict, blank=True)
    status = models.CharField(max_length=20, choices=Status, default=Status.PENDING)
    output = models.TextField(blank=True)
    detail = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("tool call")
        verbose_name_plural = _("tool calls")
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["step", "index"], name="tool_call_index_once"),
            models.CheckConstraint(
                condition=Q(
                    status__in=[
                        "pending",
                        "waiting",
                        "running",
                        "succeeded",
                        "failed",
                        "denied",
                        "stopped",
                        "unknown",
                    ]
                ),
                name="tool_call_status_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.status})"

    @property
    def dom_id(self) -> str:
        """Its id on the page."""
        return f"tool-call-{self.pk}"

    @property
    def place(self) -> tuple[int, int]:
        """Where it stands in its turn: step, then place in the step."""
        return (self.step.number, self.index)

    @property
    def is_todo_write(self) -> bool:
        """Whether it is the planning tool's: a marker in the transcript and no card."""
        return self.name == TODO_WRITE

    @property
    def seconds(self) -> float | None:
        """How long it ran, as far as the clock can be believed: one that was set back gives 0."""
        if self.started_at is None or self.ended_at is None:
            return None
        return max(0.0, (self.ended_at - self.started_at).total_seconds())

    @property
    def given(self) -> dict[str, Any]:
        """The arguments as an object; empty when they are none that can be read."""
        try:
            given = json.loads(self.arguments or "{}", strict=False)
        except (ValueError, RecursionError):
            return {}
        return given if isinstance(given, dict) else {}

    @property
    def subject(self) -> str:
        """What it works on, in a line: a command, a path, or the first text among its arguments."""
        given = self.given
        named = [given[name] for name in ("command", "path", "query", "url") if name in given]
        texts = [value for value in [*named, *given.values()] if isinstance(value, str) and value.strip()]
        return " ".join(texts[0].split())[:200] if texts else ""
