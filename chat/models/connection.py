"""Connections: endpoints of models, with the keys that they ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

from chat.models.seal import SealBrokenError, seal, unseal
from chat.models.web_address import origin_of

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User


@dataclass(frozen=True)
class Secrets:
    """The key, empty for none, and the headers by their names. Neither is in its representation."""

    key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


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
        help_text=_("Blank: everyone can use it."),
    )
    name = models.CharField(_("name"), max_length=80)
    base_url = models.CharField(_("address"), max_length=500)
    secrets = models.TextField(blank=True, default="", editable=False)
    inside = models.BooleanField(
        _("allow a local address"),
        default=False,
        help_text=_("On this machine or its network. Otherwise only public addresses can be used."),
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("connection")
        verbose_name_plural = _("connections")
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name

    @property
    def version(self) -> str:
        """Another one after each change."""
        return self.updated_at.isoformat()

    @property
    def opened(self) -> Secrets:
        """Key and headers; raises SealBrokenError, also where they were given for another origin."""
        found = unseal(self.secrets)
        if found and found.get("origin", {}).get("is") != origin_of(self.base_url):
            raise SealBrokenError
        return Secrets(found.get("key", {}).get("is", ""), found.get("headers", {}))

    def keep_secrets(self, secrets: Secrets) -> None:
        """Seal these in place of what was there, for this origin alone; the row is not saved."""
        parts = {"key": {"is": secrets.key} if secrets.key else {}, "headers": dict(secrets.headers)}
        bound = {"origin": {"is": origin_of(self.base_url)}} if any(parts.values()) else {}
        self.secrets = seal({**bound, **parts})

    @property
    def may_reach_inside(self) -> bool:
        """Whether it leads into this network, as only staff may have it."""
        return self.inside and self.is_staffs

    @property
    def is_staffs(self) -> bool:
        """Whether somebody of the staff answers for it."""
        return self.owner is None or (self.owner.is_staff and self.owner.is_active)

    @classmethod
    def offered_to(cls, user: AbstractBaseUser | AnonymousUser) -> QuerySet[Connection]:
        """The connections that the user may choose: everybody's, and their own."""
        return cls.objects.filter(Q(owner=None) | Q(owner_id=user.pk))

    @classmethod
    def changeable_by(cls, user: User | AnonymousUser) -> QuerySet[Connection]:
        """The connections that the user may change: their own, and the site's where they are staff."""
        own = Q(owner_id=user.pk)
        return cls.objects.filter(own | Q(owner=None) if user.is_staff else own)
