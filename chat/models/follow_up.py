"""Follow-ups: messages that were sent while a turn works."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable
from typing import Any

from django.db import models
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

from chat.models.message import Message
from chat.models.turn import Turn


class FollowUp(models.Model):
    """A message that is held until it joins the working turn, or starts the next one.

    It leaves the held state once: delivered to `turn`, or unsent by the request `taken_by`.
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
        return f"follow-up-{self.pk}"

    @property
    def turn_client_id(self) -> uuid.UUID:
        """The client id of a turn that begins with it, the same at every attempt."""
        return uuid.uuid5(self.client_id, "turn")

    @classmethod
    def held_in(cls, conversation_id: uuid.UUID) -> list[FollowUp]:
        held = cls.objects.filter(conversation=conversation_id, status=cls.Status.HELD)
        return list(held.prefetch_related("attachments"))

    @classmethod
    def claim(cls, conversation_id: uuid.UUID) -> list[FollowUp]:
        """The held messages, locked until the caller's transaction ends."""
        held = cls.objects.filter(conversation=conversation_id, status=cls.Status.HELD)
        return list(held.select_for_update(no_key=True))

    @classmethod
    def deliver(cls, claimed: Iterable[FollowUp], turn: Turn) -> None:
        rows = cls.objects.filter(pk__in=[each.pk for each in claimed])
        rows.update(status=cls.Status.DELIVERED, turn=turn)

    @classmethod
    def take_back_all(cls, conversation_id: uuid.UUID, by: uuid.UUID | None = None) -> list[FollowUp]:
        """Unsend held messages for the request `by`, in the caller's transaction; returns them."""
        held = cls.claim(conversation_id)
        rows = cls.objects.filter(pk__in=[each.pk for each in held])
        rows.update(status=cls.Status.TAKEN_BACK, taken_by=by)
        return held

    @classmethod
    def text_taken_by(cls, conversation_id: uuid.UUID, by: uuid.UUID) -> str:
        """The text that the request has unsent. Idempotent, as the first response may have been lost."""
        taken = cls.objects.filter(conversation=conversation_id, taken_by=by)
        return joined(taken.values_list("text", flat=True))

    def take_back(self, by: uuid.UUID | None = None) -> bool:
        """Unsend it unless it was delivered; True also if it was unsent before."""
        held = FollowUp.objects.filter(pk=self.pk, status=self.Status.HELD)
        held.update(status=self.Status.TAKEN_BACK, taken_by=by)
        self.refresh_from_db(fields=["status"])
        return self.status == self.Status.TAKEN_BACK


def joined(texts: Iterable[str]) -> str:
    return "\n\n".join(texts)


# A line of a message that names a file: a word, a colon, the path.
_FILE_LINE = re.compile(r"[^\s:：]{1,20}[:：]\s*(.+)")
_BLANK_LINES = re.compile(r"\n{3,}")


class Attachment(models.Model):
    """A file at `path` in the workspace that came with a message or a held one.

    A picture has a media type by its content and is stored under its digest, unless it has a fault. The text
    names a file that the user has renamed since by its `sent_path`.
    """

    class Fault(models.TextChoices):
        LARGE = "large", _("Too large for the model to see")
        DAMAGED = "damaged", _("Damaged, so not shown to the model")
        FULL = "full", _("Not kept, so not shown to the model")
        REFUSED = "refused", _("Rejected by the model's endpoint, so not shown to the model")

    message = models.ForeignKey(Message, on_delete=models.CASCADE, null=True, related_name="attachments")
    follow_up = models.ForeignKey(FollowUp, on_delete=models.CASCADE, null=True, related_name="attachments")
    path = models.TextField()
    sent_path = models.TextField(blank=True, default="", editable=False)
    media_type = models.CharField(max_length=40, blank=True)
    size = models.PositiveBigIntegerField(default=0)
    digest = models.CharField(max_length=64, blank=True)
    fault = models.CharField(max_length=10, choices=Fault, blank=True)

    class Meta:
        verbose_name = _("attachment")
        verbose_name_plural = _("attachments")
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(message__isnull=False, follow_up__isnull=True)
                | Q(message__isnull=True, follow_up__isnull=False),
                name="attachment_of_one_message",
            ),
        ]

    def __str__(self) -> str:
        return self.path

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def path_in_text(self) -> str:
        return self.sent_path or self.path

    def about(self) -> dict[str, Any]:
        """The picture as the model reads of it, also after the file was renamed."""
        names = ("media_type", "size", "digest", "fault")
        return {"name": self.path_in_text, **{name: getattr(self, name) for name in names}}

    @classmethod
    def of(cls, conversation_id: object) -> QuerySet[Attachment]:
        in_turn = Q(message__turn__conversation=conversation_id)
        return cls.objects.filter(in_turn | Q(follow_up__conversation=conversation_id))

    @classmethod
    def rename(cls, conversation_id: object, old: str, new: str) -> None:
        """The user has renamed a file: messages show it under the new name; their texts stay as they were."""
        renamed = cls.of(conversation_id).filter(path=old)
        renamed.filter(sent_path="").update(sent_path=old)
        renamed.update(path=new)

    @classmethod
    def add_copies(cls, attachments: Iterable[Attachment], to: Message | FollowUp) -> None:
        """Add them to a message whose text names them by their present paths."""
        target = {"message": to} if isinstance(to, Message) else {"follow_up": to}
        names = ("path", "media_type", "size", "digest", "fault")
        copies = [
            Attachment(**target, **{name: getattr(each, name) for name in names}) for each in attachments
        ]
        Attachment.objects.bulk_create(copies)

    @classmethod
    def deliver(cls, claimed: Iterable[FollowUp], to: Message) -> Message:
        """Move the held messages' attachments to the message that they became; prefetches them on it."""
        held = cls.objects.filter(follow_up__in=[each.pk for each in claimed])
        held.update(follow_up=None, message=to)
        models.prefetch_related_objects([to], "attachments")  # it is rendered without database access
        return to

    @classmethod
    def taken_by(cls, conversation_id: object, by: uuid.UUID) -> QuerySet[Attachment]:
        """Attachments of the messages that the request has unsent."""
        return cls.objects.filter(follow_up__conversation=conversation_id, follow_up__taken_by=by)

    @classmethod
    def taken_back(cls, conversation_id: object, text: str) -> list[Attachment]:
        """Attachments of unsent messages that the text names again."""
        if not (named := set(named_in(text))):
            return []
        held = {"follow_up__conversation": conversation_id, "follow_up__status": FollowUp.Status.TAKEN_BACK}
        is_named = Q(sent_path__in=named) | Q(sent_path="", path__in=named)
        latest = {each.path_in_text: each for each in cls.objects.filter(is_named, **held)}
        return list(latest.values())


def named_in(text: str) -> list[str]:
    return [match[1].strip() for line in text.splitlines() if (match := _FILE_LINE.fullmatch(line.strip()))]


def own_words(message: Message | FollowUp) -> str:
    """What the user wrote, without the lines that name the attached files."""
    return without_names(message.text, message.attachments.all()) if named_in(message.text) else message.text


def read_named_files(messages: Iterable[Message]) -> None:
    """Read the attachments that `own_words` needs, in one query; in none where no text names a file."""
    users = [each for each in messages if each.role == each.Role.USER and named_in(each.text)]
    models.prefetch_related_objects(users, "attachments")


def without_names(text: str, attachments: Iterable[Attachment]) -> str:
    if not (names := set(names_in(text, attachments))):
        return text
    lines = [line for line in text.split("\n") if line not in names]
    return _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()


def names_in(text: str, attachments: Iterable[Attachment]) -> list[str]:
    """The lines of the text that name these files."""
    paths = {each.path_in_text for each in attachments}
    return [line for line in text.split("\n") if paths.intersection(named_in(line))]


def with_present_names(text: str, attachments: Iterable[Attachment]) -> str:
    """The text with the present paths of these files in the lines that name them."""
    present = {each.path_in_text: each.path for each in attachments if each.path_in_text != each.path}

    def renamed(line: str) -> str:
        named = next(iter(named_in(line)), "")
        return line.rstrip().removesuffix(named) + present[named] if named in present else line

    return "\n".join(map(renamed, text.split("\n")))
