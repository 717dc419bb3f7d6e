"""Entries: one piece of a conversation that can be found, and where it is."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from chat.models.search.shelf import SearchShelf


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
