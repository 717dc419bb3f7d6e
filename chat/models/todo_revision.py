"""Todo revisions: the list as one accepted `TodoWrite` left it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models
from django.utils.translation import gettext_lazy as _

from chat.models.tool_call import ToolCall
from chat.models.turn import Turn

if TYPE_CHECKING:
    from chat.models.conversation import Conversation


class TodoRevision(models.Model):
    """A whole list; `items` are objects with id, content, status, active_form and key, all text."""

    conversation: models.ForeignKey[Conversation, Conversation] = models.ForeignKey(
        "chat.Conversation", on_delete=models.CASCADE, related_name="revisions"
    )
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="revisions")
    tool_call = models.OneToOneField(ToolCall, on_delete=models.CASCADE, null=True, related_name="revision")
    policy = models.CharField(max_length=20)
    items: models.JSONField[list[dict[str, Any]], list[dict[str, Any]]] = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("todo revision")
        verbose_name_plural = _("todo revisions")
        ordering = ["pk"]
        indexes = [models.Index(fields=["conversation", "-id"], name="revision_latest_first")]

    def __str__(self) -> str:
        return f"{self.done}/{self.total}"

    @classmethod
    def write(
        cls, turn: Turn, tool_call: ToolCall | None, policy: str, items: list[dict[str, Any]]
    ) -> TodoRevision:
        """The list that the conversation has from now on."""
        conversation = turn.conversation
        revision = cls.objects.create(
            conversation=conversation, turn=turn, tool_call=tool_call, policy=policy, items=items
        )
        conversation.todos_left = revision.total - revision.done
        conversation.save(update_fields=["todos_left"])
        return revision

    @property
    def total(self) -> int:
        """How many items it has."""
        return len(self.items)

    @property
    def done(self) -> int:
        """How many of them are completed."""
        return sum(item["status"] == "completed" for item in self.items)
