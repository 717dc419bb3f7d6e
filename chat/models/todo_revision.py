"""Todo revisions: the list as an accepted `TodoWrite`, or the user, left it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from django.db import models
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

from chat.models.step import Step
from chat.models.tool_call import ToolCall
from chat.models.turn import Turn

if TYPE_CHECKING:
    from chat.models.conversation import Conversation

Items = list[dict[str, Any]]


class TodoCounts:
    """Counts of a list's items."""

    items: Any

    @property
    def total(self) -> int:
        return len(self.items)

    @property
    def done(self) -> int:
        return sum(item["status"] == "completed" for item in self.items)

    @property
    def current(self) -> dict[str, Any] | None:
        """The item in progress, else the next one."""
        for status in ("in_progress", "pending"):
            for item in self.items:
                if item["status"] == status:
                    return cast("dict[str, Any]", item)
        return None


class TodoRevision(TodoCounts, models.Model):
    """A whole list; `items` are objects with id, content, status, active_form and key, all text.

    A user's edit has no `tool_call`: it was made after the call `after` (None: before all), or `afterwards`:
    after the turn; `skipped` are the ids that it takes out and keeps in view. If `kept`, it only repeats
    edits after a list that the agent wrote without knowing them. The request of `delivered_in_step` told the
    model. If `dismissed`, its open items do not count as left while it is the current list.
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
    dismissed = models.BooleanField(default=False)
    delivered_in_step = models.ForeignKey(
        Step, on_delete=models.SET_NULL, null=True, related_name="delivered_revisions"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    has_skips = False  # whether the user has skipped items in the conversation, if annotated

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
        return cls(turn=turn, tool_call=tool_call, policy=policy, items=items)._save()

    @classmethod
    def edit(
        cls, turn: Turn, policy: str, items: Items, skipped: Sequence[str] = (), *, kept: bool = False
    ) -> TodoRevision:
        """Record a list by the user; `turn` is the latest turn, active or ended."""
        latest_call = turn.tool_calls.exclude(status=ToolCall.Status.PENDING).order_by("pk").last()
        return cls(
            author=cls.Author.PERSON,
            turn=turn,
            policy=policy,
            items=items,
            after=latest_call,
            afterwards=not turn.is_active,
            skipped=list(skipped),
            kept=kept,
        )._save()

    @classmethod
    def added_by_user(cls, revisions: QuerySet[TodoRevision]) -> set[str]:
        """The ids of the items that the user, not the agent, added in these lists."""
        return cls.added_in(cls.edited_lists(revisions))

    @classmethod
    def edited_lists(cls, revisions: QuerySet[TodoRevision]) -> list[tuple[str, Items]]:
        """The author and the items of each of these lists, oldest first; none if the user edited none."""
        if not revisions.filter(author=cls.Author.PERSON).exists():
            return []
        return list(revisions.order_by("pk").values_list("author", "items"))

    @classmethod
    def added_in(cls, lists: Iterable[tuple[str, Items]]) -> set[str]:
        """The ids of the items that the user, not the agent, added in these `edited_lists`."""
        known, added = set[str](), set[str]()
        for author, items in lists:
            listed = {item["id"] for item in items}
            if author == cls.Author.PERSON:
                added |= listed - known
            known |= listed
        return added

    @classmethod
    def hand_on(cls, turn: Turn, heir: int) -> list[TodoRevision]:
        """Give a turn's edits by the user to another one, unless the agent wrote a list in it."""
        edits = list(turn.revisions.all())
        if not all(edit.is_by_user for edit in edits):
            return []
        turn.revisions.update(turn=heir, after=None, afterwards=True)
        return list(cls.objects.filter(pk__in=[edit.pk for edit in edits]))

    def _save(self) -> TodoRevision:
        self.conversation = conversation = self.turn.conversation
        conversation.todos_left = self.left
        conversation.save(update_fields=["todos_left"])  # first: it locks the conversation
        self.save()
        return self

    @property
    def left(self) -> int:
        """How many items count as open."""
        return 0 if self.dismissed else self.total - self.done

    @property
    def is_by_user(self) -> bool:
        return self.author == self.Author.PERSON
