"""Messages: text by the user or by the agent."""

from __future__ import annotations

import re

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from chat.agent.storable import storable
from chat.models.step import Step
from chat.models.turn import Turn

AFTER_CALLS = 2**31  # sort key of user messages read after a step's results


class Message(models.Model):
    """A text in markdown; the agent's belong to a step, and are not `complete` while they are written.

    A user message has a step only if it is a follow-up: the step after whose results the agent read it.
    `extra` holds the provider's own fields, which are sent back. A `cut_off` message is never read by the
    model.
    """

    class Role(models.TextChoices):
        USER = "user", _("You")
        ASSISTANT = "assistant", _("Agent")

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="messages")
    step = models.ForeignKey(Step, on_delete=models.CASCADE, null=True, related_name="messages")
    role = models.CharField(max_length=10, choices=Role)
    text = models.TextField(blank=True)
    reasoning = models.TextField(blank=True)
    extra = models.JSONField(default=dict, blank=True)
    complete = models.BooleanField(default=True)
    cut_off = models.BooleanField(default=False)
    # Seconds from the first reasoning to the first text; None while it thinks, or if that is unknown.
    thought_for = models.PositiveIntegerField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    # In the writing worker's memory: whether it renders the message, and how much of the text is saved.
    live = False
    saved_text = saved_reasoning = 0

    class Meta:
        verbose_name = _("message")
        verbose_name_plural = _("messages")
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(condition=Q(role__in=["user", "assistant"]), name="message_role_known"),
            models.UniqueConstraint(
                fields=["turn"],
                condition=Q(role="user", step__isnull=True),
                name="message_one_question_a_turn",
            ),
            models.UniqueConstraint(
                fields=["step"], condition=Q(role="assistant"), name="message_one_answer_a_step"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role}: {self.text[:40]}"

    @property
    def dom_id(self) -> str:
        return f"message-{self.pk}"

    @property
    def sort_key(self) -> tuple[int, int]:
        if self.step is None:
            return (0, 0)
        return (self.step.number, AFTER_CALLS if self.role == self.Role.USER else -1)

    @property
    def is_visible(self) -> bool:
        """Whether the user sees anything of it; some hold only provider fields."""
        return bool(self.text or self.reasoning or self.cut_off or not self.complete)

    def as_chat_message(self) -> dict[str, str]:
        return {"role": "user", "content": self.text}


MAX_MESSAGE_BYTES = 64 * 1024
TITLE_LENGTH = 80
_WORDLESS = re.compile(r"\s*(?:```[^`]*|~~~.*)|[-*_=#>\s]*")  # a fence, a rule, a blank line
_HEADING = re.compile(r"^\s*#{1,6}\s+")
_UPLOADED = re.compile(r"^(?:Uploaded: |已上传：)(?:.*/)?")  # as chat.files.uploads names a file


class MessageRefused(ValueError):  # noqa: N818 (a refusal, shown to the user)
    """The message is not accepted; the text tells the user why."""


def checked_message(text: str) -> str:
    """The text as it is stored; raises MessageRefused if it is blank or above 64 KiB."""
    text = storable(text).replace("\r\n", "\n").strip()
    if not text:
        raise MessageRefused(_("The message is empty."))
    if len(text.encode()) > MAX_MESSAGE_BYTES:
        raise MessageRefused(
            _("The message is longer than 64 KiB. Shorten it, or attach the text as a file.")
        )
    return text


def title_of(text: str) -> str:
    """The first line with words, without the marks of code and of a heading; of a file, its name."""
    lines = text.splitlines()
    first = _UPLOADED.sub("", next((line for line in lines if not _WORDLESS.fullmatch(line)), lines[0]))
    line = " ".join(_HEADING.sub("", first).replace("`", "").split()) or first
    return line if len(line) <= TITLE_LENGTH else f"{line[: TITLE_LENGTH - 1].rstrip()}…"
