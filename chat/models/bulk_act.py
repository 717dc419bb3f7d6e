"""Acts on several conversations at once, each of which can be undone for a while."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chat.models.bulk_kinds import Assignment, BulkKind, Dismissal, Occasion, Tagging, Untagging
from chat.models.tag import LONGEST, normalised

if TYPE_CHECKING:
    from django.contrib.auth.models import User

UNDO_TIME = datetime.timedelta(minutes=10)


@dataclass(frozen=True)
class Undone:
    """So many conversations are as they were; so many were changed meanwhile, and stay as they are."""

    restored: int
    left: int


class BulkAct(models.Model):
    """What was done, to which conversations, and how they were before: `before` is by their keys.

    It is undone once, by its owner, within UNDO_TIME.
    """

    class Kind(models.TextChoices):
        ARCHIVE = "archive", _("Archive")
        BRING_BACK = "bring_back", _("Unarchive")
        PIN = "pin", _("Pin")
        UNPIN = "unpin", _("Unpin")
        TAG = "tag", _("Tag")
        UNTAG = "untag", _("Untag")
        DISMISS = "dismiss", _("Dismiss")
        DELETE = "delete", _("Delete")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="bulk_acts")
    kind = models.CharField(max_length=20, choices=Kind)
    word = models.CharField(max_length=LONGEST, blank=True)
    before: models.JSONField[dict[str, Any], dict[str, Any]] = models.JSONField(default=dict)
    count = models.PositiveIntegerField()
    at = models.DateTimeField(db_index=True)
    undone_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("bulk action")
        verbose_name_plural = _("bulk actions")
        ordering = ["at"]
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    kind__in=["archive", "bring_back", "pin", "unpin", "tag", "untag", "dismiss", "delete"]
                ),
                name="bulk_act_kind_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.count}"

    @classmethod
    def carry_out(cls, owner: User, kind: str, keys: Iterable[uuid.UUID], word: str = "") -> BulkAct:
        """Do it to those of the owner's conversations that it changes; `count` says how many.

        Raises TagRefused for a word that is no tag, and ValueError for a kind that there is none of.
        """
        kind = cls.Kind(kind)
        occasion = Occasion(owner.pk, timezone.now(), normalised(word))
        with transaction.atomic():
            before = KINDS[kind].do(sorted(set(keys)), occasion)
            return cls.objects.create(
                owner=owner,
                kind=kind,
                word=occasion.word[:LONGEST],
                before=before,
                count=len(before),
                at=occasion.at,
            )

    @classmethod
    def offered_to(cls, user: User) -> BulkAct | None:
        """The latest that the user may still undo, and that changed anything."""
        return cls._open(user).filter(count__gt=0).defer("before").order_by("-at").first()

    @classmethod
    def _open(cls, user: User) -> models.QuerySet[BulkAct]:
        return cls.objects.filter(owner=user.pk, undone_at=None, at__gt=timezone.now() - UNDO_TIME)

    @classmethod
    def forget_old(cls) -> None:
        """Remove what can no longer be undone."""
        cls.objects.filter(at__lte=timezone.now() - UNDO_TIME).delete()

    @property
    def until(self) -> datetime.datetime:
        """Until when it can be undone."""
        return self.at + UNDO_TIME

    def undo(self, user: User) -> Undone | None:
        """Restore what is still as this left it; None where it was undone before, or the time is over."""
        with transaction.atomic():
            if not self._open(user).filter(pk=self.pk).update(undone_at=timezone.now()):
                return None
            restored = KINDS[self.kind].undo(self.before, Occasion(self.owner_id, self.at, self.word))
        return Undone(restored, self.count - restored)


KINDS: dict[str, BulkKind] = {
    BulkAct.Kind.ARCHIVE: Assignment("archived_at", Q(archived_at__isnull=True), lambda at: at),
    BulkAct.Kind.BRING_BACK: Assignment("archived_at", Q(archived_at__isnull=False), lambda _at: None),
    BulkAct.Kind.PIN: Assignment("pinned", Q(pinned=False), lambda _at: True),
    BulkAct.Kind.UNPIN: Assignment("pinned", Q(pinned=True), lambda _at: False),
    BulkAct.Kind.TAG: Tagging(),
    BulkAct.Kind.UNTAG: Untagging(),
    BulkAct.Kind.DISMISS: Dismissal("todos_left", Q(todos_left__gt=0), lambda _at: 0),
    BulkAct.Kind.DELETE: Assignment("deleted_at", Q(deleted_at__isnull=True), lambda at: at),
}
