"""Settings of a model: what it needs of a request, what it can, and what it costs."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from chat.models.connection import Connection

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise


def _price(name: StrPromise) -> models.DecimalField[Decimal | None, Decimal | None]:
    at_least_0 = [MinValueValidator(0)]
    return models.DecimalField(
        name, max_digits=12, decimal_places=6, null=True, blank=True, validators=at_least_0
    )


class ModelSettings(models.Model):
    """What is known of one model at one connection, or at the environment's where there is none.

    `traits` a person has set, `learned` came of errors that the endpoint named; both hold what
    `chat.agent.model.Traits` does. Prices are for a million tokens.
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
