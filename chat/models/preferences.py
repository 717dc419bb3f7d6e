"""Preferences: what a person has chosen for all their conversations."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from chat.models.profile import Profile


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
        help_text=_("With a small call after the first turn; otherwise the first line is the name."),
    )

    class Meta:
        verbose_name = _("preferences")
        verbose_name_plural = _("preferences")

    def __str__(self) -> str:
        return f"preferences of user {self.user_id}"
