"""What a person does to a conversation to find it again, or to be rid of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.db.models import F, Index, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from chat.models.tag import Tag, folded, normalised


class Organised(models.Model):
    """Pinned ones come first; archived ones are out of the way; deleted ones are hidden, soon gone."""

    pinned = models.BooleanField(_("pinned"), default=False)
    archived_at = models.DateTimeField(_("archived"), null=True, blank=True)
    deleted_at = models.DateTimeField(_("deleted"), null=True, blank=True)
    tags = models.ManyToManyField(Tag, verbose_name=_("tags"), related_name="conversations", blank=True)

    known_words: list[str] | None = None  # of its tags, where somebody looked them up
    if TYPE_CHECKING:
        owner_id: int

    class Meta:
        abstract = True

    # Each serves a list in its order, without what the list leaves out.
    INDEXES = [
        Index(
            F("owner"),
            F("pinned").desc(),
            F("updated_at").desc(),
            F("id").desc(),
            condition=Q(archived_at__isnull=True, deleted_at__isnull=True),
            name="conversation_current",
        ),
        Index(
            F("owner"),
            F("updated_at").desc(),
            F("id").desc(),
            condition=Q(archived_at__isnull=False, deleted_at__isnull=True),
            name="conversation_archived",
        ),
        Index(fields=["deleted_at"], condition=Q(deleted_at__isnull=False), name="conversation_deleted"),
    ]

    @property
    def archived(self) -> bool:
        """Whether it is in the archive."""
        return self.archived_at is not None

    @property
    def words(self) -> list[str]:
        """The words of its tags."""
        if self.known_words is None:
            self.known_words = list(self.tags.values_list("word", flat=True))
        return self.known_words

    @property
    def suggested_tags(self) -> QuerySet[Tag]:
        """Its owner's tags that it does not have."""
        return Tag.objects.filter(owner=self.owner_id).exclude(conversations=self.pk)

    def has_tag(self, word: str) -> bool:
        """Whether it has its owner's tag of that word, however it is written."""
        return self.tags.filter(folded=folded(normalised(word))).exists()

    def bring_back(self) -> None:
        """Take it out of the archive, whatever this object knows of that."""
        type(self)._default_manager.filter(pk=self.pk).update(archived_at=None)
        self.archived_at = None
