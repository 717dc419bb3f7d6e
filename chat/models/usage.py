"""Daily usage: sums of model calls."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import IntegrityError, models, transaction
from django.db.models import Count, F, Q, QuerySet, Sum
from django.utils.translation import gettext_lazy as _

from chat.models.step import ModelCall, SideCall, Step

TOKEN_COUNTS = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")
COUNTS = ("calls", "estimated_calls", *TOKEN_COUNTS)


class DailyUsage(models.Model):
    """A user's usage in a day, by endpoint, model, profile and currency.

    The day is in the user's time zone. Rows outlive their conversations. `cost` sums the priced calls; those
    without a price have no currency.
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
        """Add to the row of that key, atomically in the database."""
        more = {name: F(name) + amount for name, amount in amounts.items()}
        if cls.objects.filter(**key).update(**more):
            return
        try:
            with transaction.atomic():
                cls.objects.create(**key, **amounts)
        except IntegrityError:  # another worker has just created it
            cls.objects.filter(**key).update(**more)


TOKENS = "tokens"


@dataclass(frozen=True)
class Totals:
    """Tokens, and `costs` by currency, of calls that used tokens.

    `estimated` if any count is; `unpriced` if any call had no price, so that they cost more than `costs`.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False
    costs: tuple[tuple[str, Decimal], ...] = ()
    unpriced: bool = False

    def __add__(self, other: Totals) -> Totals:
        costs = dict(self.costs)
        for currency, cost in other.costs:
            costs[currency] = costs.get(currency, Decimal(0)) + cost
        return Totals(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.estimated or other.estimated,
            tuple(sorted(costs.items())),
            self.unpriced or other.unpriced,
        )

    def amount(self, of: str) -> Decimal:
        """Input and output tokens, or the cost in the currency `of`."""
        if of == TOKENS:
            return Decimal(self.input_tokens + self.output_tokens)
        return dict(self.costs).get(of, Decimal(0))

    @classmethod
    def of(cls, calls: Iterable[ModelCall]) -> Totals:
        return sum(map(cls._of_call, calls), cls())

    @classmethod
    def of_conversation(cls, conversation_id: uuid.UUID) -> Totals:
        steps, side_calls = (
            _by_currency(calls.objects.filter(turn__conversation=conversation_id))
            for calls in (Step, SideCall)
        )
        return sum(map(cls._of_sums, steps.union(side_calls, all=True)), cls())

    @classmethod
    def _of_call(cls, call: ModelCall) -> Totals:
        if not (call.input_tokens or call.output_tokens):
            return cls()
        costs = () if call.cost is None else ((call.currency, call.cost),)
        counts = {name: getattr(call, name) for name in TOKEN_COUNTS}
        return cls(calls=1, **counts, estimated=call.estimated, costs=costs, unpriced=not costs)

    @classmethod
    def _of_sums(cls, sums: Mapping[str, Any]) -> Totals:
        costs = () if sums["spent"] is None else ((sums["currency"], sums["spent"]),)
        counts = {name: sums[f"{name}_sum"] for name in TOKEN_COUNTS}
        estimated = sums["guesses"] > 0
        return cls(calls=sums["calls"], **counts, estimated=estimated, costs=costs, unpriced=not costs)


def _by_currency(calls: QuerySet[Any]) -> QuerySet[Any, dict[str, Any]]:
    sums: dict[str, Any] = {f"{name}_sum": Sum(name) for name in TOKEN_COUNTS}
    guesses = Count("pk", filter=Q(estimated=True))
    took = calls.exclude(input_tokens=0, output_tokens=0)
    grouped = took.order_by().values("currency")
    summed: QuerySet[Any, dict[str, Any]] = grouped.annotate(
        calls=Count("pk"), guesses=guesses, spent=Sum("cost"), **sums
    )
    return summed
