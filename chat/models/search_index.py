"""The search index: its entries, and which conversations are indexed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from chat.models.conversation import Conversation


INDEX_VERSION = 3  # of what is indexed and how words are split; a new one reindexes everything


class SearchIndexState(models.Model):
    """The entries of one conversation; complete if `version` is INDEX_VERSION."""

    conversation: models.OneToOneField[Conversation, Conversation] = models.OneToOneField(
        "chat.Conversation", on_delete=models.CASCADE, related_name="search_index_state"
    )
    version = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name = _("search index state")
        verbose_name_plural = _("search index states")

    def __str__(self) -> str:
        return f"index state {self.pk}"

    @classmethod
    def of(cls, conversation: Conversation) -> SearchIndexState:
        """The conversation's state, created with version 0 if it has none."""
        return cls.objects.get_or_create(conversation=conversation)[0]


class SearchEntry(models.Model):
    """Chunk `part` of the text of a row: of the message, tool call or todo revision with key `row`.

    `place` is an item's id in a revision, or a file's path (files have no row). The words themselves are in
    the store. Keys stay under 2**32.
    """

    class Kind(models.TextChoices):
        TITLE = "title", _("Title")
        MESSAGE = "message", _("Message")
        TODO = "todo", _("To-do")
        CALL = "call", _("Tool call")
        FILE = "file", _("File")

    index_state = models.ForeignKey(SearchIndexState, on_delete=models.CASCADE, related_name="entries")
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
