"""Preferences: what a person has chosen for all their conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef
from django.utils.translation import gettext_lazy as _

from chat.models.profile import Profile

if TYPE_CHECKING:
    from django.contrib.auth.models import User


class Preferences(models.Model):
    """A person's choices; whoever has made none has no row."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="chat_preferences"
    )
    default_profile = models.ForeignKey(
        Profile, verbose_name=_("default profile"), on_delete=models.SET_NULL, null=True, blank=True
    )
    name_conversations = models.BooleanField(
        _("let the model name conversations"),
        default=True,
        help_text=_(
            "Uses one short request after the first turn. Otherwise the first line becomes the title."
        ),
    )

    class Meta:
        verbose_name = _("preferences")
        verbose_name_plural = _("preferences")

    def __str__(self) -> str:
        return f"preferences of user {self.user_id}"

    @classmethod
    def profile_of(cls, user: User) -> Profile | None:
        """The profile that the user's conversations begin with; None where none is offered."""
        preferred = Exists(cls.objects.filter(user=user, default_profile=OuterRef("pk")))
        return Profile.offered_to(user).order_by(preferred.desc(), "position", "pk").first()

    @classmethod
    def choose(cls, user: User, profile: Profile) -> None:
        """Let the user's conversations begin with the profile."""
        cls.objects.update_or_create(user=user, defaults={"default_profile": profile})
