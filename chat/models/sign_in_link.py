"""Sign-in links: the way in that the server prints at its start."""

from __future__ import annotations

import datetime
import hashlib
import secrets
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django.contrib.auth.models import User

LIFETIME = datetime.timedelta(hours=1)


class SignInLink(models.Model):
    """Signs its user in once, within an hour. Only the hash of the token is kept."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="sign_in_links")
    token_hash = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("sign-in link")
        verbose_name_plural = _("sign-in links")

    def __str__(self) -> str:
        return f"sign-in link for {self.user}"

    @classmethod
    def issue(cls, user: User) -> str:
        """A new token for the user; those that can no longer be used are cleared away."""
        cls.objects.filter(expires_at__lt=timezone.now()).delete()
        token = secrets.token_urlsafe(24)
        cls.objects.create(user=user, token_hash=_hash(token), expires_at=timezone.now() + LIFETIME)
        return token

    @classmethod
    def redeem(cls, token: str) -> User | None:
        """The user whom the token signs in, once; None for a token that is used, expired or unknown."""
        now = timezone.now()
        valid = cls.objects.filter(token_hash=_hash(token), used_at=None, expires_at__gt=now)
        if not valid.update(used_at=now):
            return None
        user = cls.objects.select_related("user").get(token_hash=_hash(token)).user
        return user if user.is_active else None


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
