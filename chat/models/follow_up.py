"""Follow-ups: messages that were sent while a turn works."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from chat.models.turn import Turn


class FollowUp(models.Model):
    """A message that is held until it joins the turn that works, or starts the next one.

    `turn` is the one that it joined or started. It leaves the held state once: delivered or taken back.
    `taken_by` is the request that took it back, which may ask again for what it was given.
    """

    class Status(models.TextChoices):
        HELD = "held", _("Held")
        DELIVERED = "delivered", _("Delivered")
        TAKEN_BACK = "taken_back", _("Unsent")

    conversation = models.ForeignKey("chat.Conversation", on_delete=models.CASCADE, related_name="follow_ups")
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, null=True, related_name="follow_ups")
    client_id = models.UUIDField(unique=True)
    text = models.TextField()
    status = models.CharField(max_length=10, choices=Status, default=Status.HELD)
    taken_by = models.UUIDField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("follow-up")
        verbose_name_plural = _("follow-ups")
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(status="delivered", turn__isnull=False)
                | Q(status__in=["held", "taken_back"], turn__isnull=True),
                name="follow_up_delivered_to_a_turn",
            ),
        ]
        indexes = [
            models.Index(fields=["conversation"], condition=Q(status="held"), name="follow_up_held"),
        ]

    def __str__(self) -> str:
        return f"{self.status}: {self.text[:40]}"

    @property
    def dom_id(self) -> str:
        """Its id on the page."""
        return f"follow-up-{self.pk}"

    @property
    def turn_client_id(self) -> uuid.UUID:
        """The client id of a turn that begins with it: the same however often that is tried."""
        return uuid.uuid5(self.client_id, "turn")

    @classmethod
    def held_in(cls, conversation_id: uuid.UUID) -> list[FollowUp]:
        """The held ones of a conversation with what came with them, oldest first."""
        held = cls.objects.filter(conversation=conversation_id, status=cls.Status.HELD)
        return list(held.prefetch_related("attachments"))

    @classmethod
    def claim(cls, conversation_id: uuid.UUID) -> list[FollowUp]:
        """The held ones, which nobody else delivers or takes back before the caller's transaction ends."""
        held = cls.objects.filter(conversation=conversation_id, status=cls.Status.HELD)
        return list(held.select_for_update(no_key=True))

    @classmethod
    def deliver(cls, claimed: Iterable[FollowUp], turn: Turn) -> None:
        """Mark claimed ones as joined to the turn."""
        rows = cls.objects.filter(pk__in=[each.pk for each in claimed])
        rows.update(status=cls.Status.DELIVERED, turn=turn)

    @classmethod
    def take_back_all(cls, conversation_id: uuid.UUID, by: uuid.UUID | None = None) -> list[FollowUp]:
        """Take back what is held, for the request `by`, within the caller's transaction; says what it was."""
        held = cls.claim(conversation_id)
        rows = cls.objects.filter(pk__in=[each.pk for each in held])
        rows.update(status=cls.Status.TAKEN_BACK, taken_by=by)
        return held

    @classmethod
    def text_taken_by(cls, conversation_id: uuid.UUID, by: uuid.UUID) -> str:
        """What the request was given, however often it is asked for: the first answer may have been lost."""
        taken = cls.objects.filter(conversation=conversation_id, taken_by=by)
        return joined(taken.values_list("text", flat=True))

    def take_back(self, by: uuid.UUID | None = None) -> bool:
        """Take it back, unless it was delivered; True also when it was taken back before."""
        held = FollowUp.objects.filter(pk=self.pk, status=self.Status.HELD)
        held.update(status=self.Status.TAKEN_BACK, taken_by=by)
        self.refresh_from_db(fields=["status"])
        return self.status == self.Status.TAKEN_BACK


def joined(texts: Iterable[str]) -> str:
    """Several messages as one: with a blank line between them."""
    return "\n\n".join(texts)
