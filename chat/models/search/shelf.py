"""Shelves: what the index holds of a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
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
