"""Todo revisions: the list as an accepted `TodoWrite`, or the person, left it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from chat.models.step import Step
from chat.models.tool_call import ToolCall
from chat.models.turn import Turn

if TYPE_CHECKING:
    from chat.models.conversation import Conversation

Items = list[dict[str, Any]]


class TodoRevision(models.Model):
    """A whole list; `items` are objects with id, content, status, active_form and key, all text.

    One of the person's has no `tool_call`. It stands in the latest turn behind the call `after` (None: ahead
    of them all), or behind its end if that was `afterwards`; `skipped` are the ids of the items that it
    leaves out. It is `kept` where it only holds on to what the person had changed, after a list that the
    agent wrote in ignorance of that. The model was told of it with the request of `delivered_in_step`.
    """

    class Author(models.TextChoices):
        AGENT = "agent", _("Agent")
        PERSON = "person", _("You")

    conversation: models.ForeignKey[Conversation, Conversation] = models.ForeignKey(
        "chat.Conversation", on_delete=models.CASCADE, related_name="revisions"
    )
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="revisions")
    tool_call = models.OneToOneField(ToolCall, on_delete=models.CASCADE, null=True, related_name="revision")
    policy = models.CharField(max_length=20)
    items: models.JSONField[Items, Items] = models.JSONField(default=list)
    author = models.CharField(max_length=10, choices=Author, default=Author.AGENT)
    after = models.ForeignKey(ToolCall, on_delete=models.SET_NULL, null=True, related_name="edits_after")
    afterwards = models.BooleanField(default=False)
    skipped: models.JSONField[list[str], list[str]] = models.JSONField(default=list)
    kept = models.BooleanField(default=False)
    delivered_in_step = models.ForeignKey(
        Step, on_delete=models.SET_NULL, null=True, related_name="delivered_revisions"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("to-do revision")
        verbose_name_plural = _("to-do revisions")
        ordering = ["pk"]
        indexes = [
            models.Index(fields=["conversation", "-id"], name="revision_latest_first"),
            models.Index(
                fields=["conversation", "-id"], condition=Q(author="person"), name="revision_latest_edit"
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(author="agent") | Q(author="person", tool_call__isnull=True),
                name="revision_author_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.done}/{self.total}"

    @classmethod
    def write(cls, turn: Turn, tool_call: ToolCall | None, policy: str, items: Items) -> TodoRevision:
        """The list that the agent has given the conversation, in the caller's transaction."""
        return cls(turn=turn, tool_call=tool_call, policy=policy, items=items)._written()

    @classmethod
    def edit(
        cls, turn: Turn, policy: str, items: Items, skipped: Sequence[str] = (), *, kept: bool = False
    ) -> TodoRevision:
        """The list that the person has given the conversation, whose latest turn is at work or has ended."""
        begun = turn.tool_calls.exclude(status=ToolCall.Status.PENDING).order_by("pk").last()
        return cls(
            author=cls.Author.PERSON,
            turn=turn,
            policy=policy,
            items=items,
            after=begun,
            afterwards=not turn.is_active,
            skipped=list(skipped),
            kept=kept,
        )._written()

    def _written(self) -> TodoRevision:
        self.conversation = conversation = self.turn.conversation
        conversation.todos_left = self.total - self.done
        conversation.save(update_fields=["todos_left"])  # first: from here on nobody else writes a list
        self.save()
        return self

    @property
    def is_by_user(self) -> bool:
        """Whether the person wrote it."""
        return self.author == self.Author.PERSON

    @property
    def total(self) -> int:
        """How many items it has."""
        return len(self.items)

    @property
    def done(self) -> int:
        """How many of them are completed."""
        return sum(item["status"] == "completed" for item in self.items)
