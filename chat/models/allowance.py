"""What a person has allowed for the rest of a conversation."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils.translation import gettext_lazy as _


class Allowance(models.Model):
    """A tool that needs no further question in one conversation; of the shell, one program."""

    conversation = models.ForeignKey("chat.Conversation", on_delete=models.CASCADE, related_name="allowances")
    tool = models.CharField(max_length=200)
    program = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("allowance")
        verbose_name_plural = _("allowances")
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["conversation", "tool", "program"], name="allowance_once"),
            models.CheckConstraint(
                condition=~models.Q(tool="bash", program=""), name="allowance_names_a_program"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.tool} {self.program}".rstrip()

    @classmethod
    def covers(cls, conversation_id: uuid.UUID, tool: str, program: str) -> bool:
        """Whether the tool, with this program where it is the shell, was allowed in the conversation."""
        found = cls.objects.filter(conversation=conversation_id, tool=tool, program=program)
        return found.exists()
