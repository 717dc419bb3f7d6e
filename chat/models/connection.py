"""Connections: model endpoints and their keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chat.models.secrets import SecretUnreadableError, seal, unseal
from chat.models.url_validation import origin_of

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
    from django_stubs_ext import StrPromise


@dataclass(frozen=True)
class Secrets:
    """The key, empty for none, and the headers by name; neither appears in `repr`."""

    key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


class ConnectionStep(models.TextChoices):
    """A step of a connection's test, as in `chat.agent.model.trial`."""

    REACHED = "reached", _("Connection")
    KEY = "key", _("Key")
    MODELS = "models", _("Models")
    STREAMS = "streams", _("Reply")
    TOOLS = "tools", _("Tool call")


class Connection(models.Model):
    """A user's or the site's model endpoint, with encrypted secrets. The environment's has no row."""

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
    tested_at = models.DateTimeField(null=True, editable=False)
    failed_step = models.CharField(
        max_length=16, choices=ConnectionStep, blank=True, default="", editable=False
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
        return self.updated_at.isoformat()

    @property
    def unsealed_secrets(self) -> Secrets:
        """Key and headers; raises SecretUnreadableError, also if they were entered for another origin."""
        secrets = unseal(self.secrets)
        if secrets and secrets.get("origin", {}).get("is") != origin_of(self.base_url):
            raise SecretUnreadableError
        return Secrets(secrets.get("key", {}).get("is", ""), secrets.get("headers", {}))

    def seal_secrets(self, secrets: Secrets) -> None:
        """Encrypt and replace the secrets, bound to the current origin, without saving the row."""
        parts = {"key": {"is": secrets.key} if secrets.key else {}, "headers": dict(secrets.headers)}
        bound = {"origin": {"is": origin_of(self.base_url)}} if any(parts.values()) else {}
        self.secrets = seal({**bound, **parts})

    @transaction.atomic
    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Delete it with its models; conversations that chose one keep its name. Raises RestrictedError."""
        for row in self.models.filter(conversations__isnull=False).distinct():
            row.conversations(manager="with_deleted").update(model=None, lost_model=row.model)
        return super().delete(*args, **kwargs)

    def save_test(self, failed_step: str) -> None:
        """Save the step that failed, or "" for none, unless the connection has changed since."""
        unchanged = type(self).objects.filter(pk=self.pk, updated_at=self.updated_at)
        unchanged.update(tested_at=timezone.now(), failed_step=failed_step)

    @property
    def may_reach_inside(self) -> bool:
        """Whether it may use local addresses, which only staff can allow."""
        return self.inside and self.is_run_by_staff

    @property
    def is_run_by_staff(self) -> bool:
        """Whether it is the site's, or belongs to active staff."""
        return self.owner is None or (self.owner.is_staff and self.owner.is_active)

    @classmethod
    def offered_to(cls, user: AbstractBaseUser | AnonymousUser) -> QuerySet[Connection]:
        return cls.objects.filter(Q(owner=None) | Q(owner_id=user.pk))

    @classmethod
    def changeable_by(cls, user: User | AnonymousUser) -> QuerySet[Connection]:
        own = Q(owner_id=user.pk)
        return cls.objects.filter(own | Q(owner=None) if user.is_staff else own)


def _price(name: StrPromise) -> models.DecimalField[Decimal | None, Decimal | None]:
    at_least_0 = [MinValueValidator(0)]
    return models.DecimalField(
        name, max_digits=12, decimal_places=6, null=True, blank=True, validators=at_least_0
    )


class ModelSettings(models.Model):
    """What is known of a model at a connection, or at the environment's endpoint.

    Users set `traits`; `learned` comes from the endpoint's errors. Both have the fields of
    `chat.agent.model.Traits`. Prices are per million tokens.
    """

    connection = models.ForeignKey(
        Connection, on_delete=models.CASCADE, null=True, blank=True, related_name="models"
    )
    model = models.CharField(_("model"), max_length=200)
    traits = models.JSONField(_("traits"), default=dict, blank=True)
    learned = models.JSONField(_("learned"), default=dict, blank=True)
    input_price = _price(_("price of input"))
    cached_price = _price(_("price of cached input"))
    output_price = _price(_("price of output"))
    currency = models.CharField(_("currency"), max_length=3, default="USD")

    class Meta:
        verbose_name = _("model settings")
        verbose_name_plural = _("model settings")
        ordering = ["connection", "model"]
        constraints = [
            models.UniqueConstraint(fields=["connection", "model"], name="model_settings_once"),
            models.UniqueConstraint(
                fields=["model"], condition=Q(connection=None), name="model_settings_once_of_environment"
            ),
        ]

    def __str__(self) -> str:
        return self.model

    @property
    def choice(self) -> str:
        """The value that forms send to choose this model."""
        return f"{self.connection_id or ''}:{self.model}"

    @classmethod
    def of_choice(cls, user: User | AnonymousUser, choice: str) -> ModelSettings | None:
        """The model that a form chose, possibly unsaved; None if it names none that the user may use."""
        key, _colon, name = choice.partition(":")
        if not name or len(name) > 200 or not name.isprintable():
            return None
        pk = int(key) if key.isdecimal() and len(key) < 19 else 0
        connection = Connection.offered_to(user).filter(pk=pk).first()
        if key and connection is None:
            return None
        return cls.objects.filter(connection=connection, model=name).first() or cls(
            connection=connection, model=name
        )

    def saved(self) -> ModelSettings:
        """The row of this model, created if there is none."""
        return type(self).objects.get_or_create(connection=self.connection, model=self.model)[0]

    def is_offered_to(self, user_id: int) -> bool:
        return self.connection is None or self.connection.owner_id in (None, user_id)
