"""Connections: endpoints of models, with the keys that they ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser


class Connection(models.Model):
    """An endpoint that somebody set up in the page. Key and headers are secrets, and kept sealed.

    The environment's endpoint is no row: where a profile has no connection, that is meant.
    """

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("owner"),
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="connections",
        help_text=_("Empty: everyone may use it."),
    )
    name = models.CharField(_("name"), max_length=80)
    base_url = models.CharField(_("address"), max_length=500)
    secrets = models.TextField(blank=True, default="", editable=False)
    inside = models.BooleanField(
        _("in this network"),
        default=False,
        help_text=_(
            "It may be on this machine or in its network; otherwise only public addresses are asked."
        ),
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("connection")
        verbose_name_plural = _("connections")
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def offered_to(cls, user: AbstractBaseUser | AnonymousUser) -> QuerySet[Connection]:
        """The connections that the user may choose: everybody's, and their own."""
        return cls.objects.filter(Q(owner=None) | Q(owner_id=user.pk))
