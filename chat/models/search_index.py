"""Shelves: what the index holds of a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from chat.models.conversation import Conversation


EDITION = 1  # of how words are told apart and what is indexed; a new one has everything indexed anew


class SearchShelf(models.Model):
    """The entries of one conversation; all of them are there if its edition is the current one."""

    conversation: models.OneToOneField[Conversation, Conversation] = models.OneToOneField(
        "chat.Conversation", on_delete=models.CASCADE, related_name="search_shelf"
    )
    edition = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name = _("search shelf")
        verbose_name_plural = _("search shelves")

    def __str__(self) -> str:
        return f"shelf {self.pk}"

    @classmethod
    def of(cls, conversation: Conversation) -> SearchShelf:
        """The conversation's; a new one knows that it does not hold everything."""
        return cls.objects.get_or_create(conversation=conversation)[0]


class SearchEntry(models.Model):
    """Part `part` of the text of a row: of the message, tool call or todo revision whose key is `row`.

    `place` is where in it: an item's id in a revision; of a file, which is no row, its path. The words
    themselves are in the store. Its key stays under 2**32.
    """

    class Kind(models.TextChoices):
        TITLE = "title", _("Title")
        MESSAGE = "message", _("Message")
        TODO = "todo", _("To-do")
        CALL = "call", _("Tool call")
        FILE = "file", _("File")

    shelf = models.ForeignKey(SearchShelf, on_delete=models.CASCADE, related_name="entries")
    kind = models.CharField(max_length=10, choices=Kind)
    row = models.BigIntegerField(default=0)
    place = models.TextField(blank=True)
    part = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name = _("search entry")
        verbose_name_plural = _("search entries")
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=["title", "message", "todo", "call", "file"]),
                name="search_entry_kind_known",
            ),
        ]
        indexes = [models.Index(fields=["kind", "row"], name="search_entry_of_row")]

    def __str__(self) -> str:
        return f"{self.kind} {self.row or self.place}"
