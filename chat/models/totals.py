"""Totals: what several calls of models come to together."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum

from chat.models.model_call import ModelCall
from chat.models.side_call import SideCall
from chat.models.step import Step

COUNTS = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")
TOKENS = "tokens"


@dataclass(frozen=True)
class Totals:
    """Tokens, and `costs` by currency, of calls that took any; `estimated` where one of them is so."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False
    costs: tuple[tuple[str, Decimal], ...] = ()

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
        )

    def amount(self, of: str) -> Decimal:
        """Its tokens, in and out, or what it cost in the currency `of`."""
        if of == TOKENS:
            return Decimal(self.input_tokens + self.output_tokens)
        return dict(self.costs).get(of, Decimal(0))

    @classmethod
    def of(cls, calls: Iterable[ModelCall]) -> Totals:
        """Of rows that are in memory."""
        return sum(map(cls._of_call, calls), cls())

    @classmethod
    def of_turn(cls, turn_id: int) -> Totals:
        """Of the turn's steps and side calls, in one query."""
        return cls._summed(turn_id=turn_id)

    @classmethod
    def of_conversation(cls, conversation_id: uuid.UUID) -> Totals:
        """Of all the conversation's steps and side calls, in one query."""
        return cls._summed(turn__conversation_id=conversation_id)

    @classmethod
    def _summed(cls, **which: Any) -> Totals:
        steps, side_calls = (_by_currency(calls.objects.filter(**which)) for calls in (Step, SideCall))
        return sum(map(cls._of_sums, steps.union(side_calls, all=True)), cls())

    @classmethod
    def _of_call(cls, call: ModelCall) -> Totals:
        if not (call.input_tokens or call.output_tokens):
            return cls()
        costs = () if call.cost is None else ((call.currency, call.cost),)
        counts = {name: getattr(call, name) for name in COUNTS}
        return cls(calls=1, **counts, estimated=call.estimated, costs=costs)

    @classmethod
    def _of_sums(cls, sums: Mapping[str, Any]) -> Totals:
        costs = () if sums["spent"] is None else ((sums["currency"], sums["spent"]),)
        counts = {name: sums[f"{name}_sum"] for name in COUNTS}
        return cls(calls=sums["calls"], **counts, estimated=sums["guesses"] > 0, costs=costs)


def _by_currency(calls: QuerySet[Any]) -> QuerySet[Any, dict[str, Any]]:
    sums: dict[str, Any] = {f"{name}_sum": Sum(name) for name in COUNTS}
    guesses = Count("pk", filter=Q(estimated=True))
    took = calls.exclude(input_tokens=0, output_tokens=0)
    grouped = took.order_by().values("currency")
    summed: QuerySet[Any, dict[str, Any]] = grouped.annotate(
        calls=Count("pk"), guesses=guesses, spent=Sum("cost"), **sums
    )
    return summed
