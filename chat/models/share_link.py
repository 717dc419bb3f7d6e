"""Share links: public addresses of a conversation as it was at one moment."""

from __future__ import annotations

import datetime
import hashlib
import secrets
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chat.models.secrets import SecretUnreadableError, seal, unseal
from chat.models.turn import Turn

if TYPE_CHECKING:
    from chat.models.conversation import Conversation

MAX_LINKS = 20  # live links of one conversation
MAX_LIFETIME = datetime.timedelta(days=366)


class ShareRefused(ValueError):  # noqa: N818 (a refusal, shown to the user)
    """No link was created; the text tells the user why."""


class ShareLink(models.Model):
    """Shows what had ended by turn `last_turn`, with the lists up to `last_revision`.

    The token is found by its hash; it is also stored encrypted, to be copied. `files` can be downloaded while
    the `stamp` of their state or the `digest` of their content matches.
    """

    conversation = models.ForeignKey(
        "chat.Conversation", on_delete=models.CASCADE, related_name="share_links"
    )
    token_hash = models.CharField(max_length=64, unique=True)
    sealed = models.TextField()
    title = models.CharField(max_length=200)
    last_turn = models.BigIntegerField()
    last_revision = models.BigIntegerField()
    with_files = models.BooleanField(default=False)
    files: models.JSONField[list[dict[str, Any]], list[dict[str, Any]]] = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("share link")
        verbose_name_plural = _("share links")
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"share link of {self.conversation_id}"

    @classmethod
    def make(
        cls,
        conversation: Conversation,
        expires_at: datetime.datetime,
        files: list[dict[str, Any]] | None = None,
    ) -> ShareLink:
        """A link to the conversation without the active turn. Raises ShareRefused."""
        ended = conversation.path.exclude(status__in=Turn.ACTIVE).order_by("pk").last()
        if ended is None:
            raise ShareRefused(_("Nothing to share yet: no turn has ended."))
        if not timezone.now() < expires_at <= timezone.now() + MAX_LIFETIME:
            raise ShareRefused(_("Choose a future date, less than a year away."))
        if sum(link.is_live for link in conversation.share_links.all()) >= MAX_LINKS:
            raise ShareRefused(_("This conversation already has %d links. Revoke one first.") % MAX_LINKS)
        lists = conversation.path_revisions.filter(turn__lte=ended).order_by("pk")
        token = secrets.token_urlsafe(32)
        return cls.objects.create(
            conversation=conversation,
            token_hash=_hash(token),
            sealed=seal({"token": {"is": token}}),
            title=conversation.title,
            last_turn=ended.pk,
            last_revision=lists.values_list("pk", flat=True).last() or 0,
            with_files=files is not None,
            files=files or [],
            expires_at=expires_at,
        )

    @classmethod
    def live(cls) -> QuerySet[ShareLink]:
        return cls.objects.filter(revoked_at=None, expires_at__gt=timezone.now())

    @classmethod
    def by_token(cls, token: str) -> ShareLink | None:
        """The link of the token, which may no longer be live, or None.

        The lookup by hash reveals nothing by its timing.
        """
        kept = cls.objects.filter(conversation__deleted_at=None)
        return kept.select_related("conversation").filter(token_hash=_hash(token)).first()

    @property
    def token(self) -> str:
        try:
            return unseal(self.sealed)["token"]["is"]
        except (SecretUnreadableError, KeyError):
            return ""

    @property
    def is_live(self) -> bool:
        return self.revoked_at is None and self.expires_at > timezone.now()

    def revoke(self) -> None:
        ShareLink.objects.filter(pk=self.pk, revoked_at=None).update(revoked_at=timezone.now())


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()
