"""Daily usage: what calls of models took, summed as they were made."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import IntegrityError, models, transaction
from django.db.models import F
from django.utils.translation import gettext_lazy as _

COUNTS = ("calls", "estimated_calls", "input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")


class DailyUsage(models.Model):
    """What a person's agents used in a day, of one model at one endpoint, under one profile, in one currency.

    The day is one of the site's TIME_ZONE. It stays when the conversation is deleted: it was paid for. The
    calls that `cost` is the sum of have a currency; those without a price have none.
    """

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="usage", db_index=False
    )
    day = models.DateField()
    endpoint = models.CharField(max_length=500, blank=True)
    model = models.CharField(max_length=200, blank=True)
    profile = models.CharField(max_length=80, blank=True)
    currency = models.CharField(max_length=3, blank=True)
    calls = models.PositiveIntegerField(default=0)
    estimated_calls = models.PositiveIntegerField(default=0)
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    cached_tokens = models.PositiveBigIntegerField(default=0)
    reasoning_tokens = models.PositiveBigIntegerField(default=0)
    cost = models.DecimalField(max_digits=20, decimal_places=8, default=Decimal(0))

    class Meta:
        verbose_name = _("daily usage")
        verbose_name_plural = _("daily usage")
        ordering = ["day", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "day", "endpoint", "model", "profile", "currency"], name="daily_usage_once"
            ),
        ]
        indexes = [models.Index(fields=["day"], name="daily_usage_by_day")]

    def __str__(self) -> str:
        return f"{self.model} on {self.day}"

    @classmethod
    def add(cls, key: dict[str, Any], amounts: dict[str, Any]) -> None:
        """Add to the row of that key, in the database, so that nothing added at the same time is lost."""
        more = {name: F(name) + amount for name, amount in amounts.items()}
        if cls.objects.filter(**key).update(**more):
            return
        try:
            with transaction.atomic():
                cls.objects.create(**key, **amounts)
        except IntegrityError:  # made by another worker just now
            cls.objects.filter(**key).update(**more)
