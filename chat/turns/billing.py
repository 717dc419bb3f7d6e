"""Cost and token usage of model calls, recorded on their rows and in daily usage."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import Any

from django.utils import timezone

from chat import measures
from chat.agent import Usage
from chat.connections.model_clients import settings_of
from chat.models import DailyUsage, ModelSettings, Reader, SideCall, Step, Turn
from chat.models.usage import Totals

MILLION = 1_000_000
COST_PRECISION = Decimal("0.00000001")
MAX_TOKENS = 10**9  # of one call; the column's limit is twice as high

Call = Step | SideCall


class Account:
    """Usage of a turn's steps, summed in memory and written with them. Caches prices and earlier totals."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.totals: Totals | None = None  # of the conversation; None until they are read
        self._charges: list[Charge] = []  # not yet in daily usage
        self._settings: dict[str, ModelSettings | None] = {}

    def record_usage(self, step: Step, usage: Usage) -> dict[str, Any]:
        """Charge a model call, again for each retry; returns the step's new values for the caller to save."""
        charge = Charge.of(step, usage, self.settings(step.model))
        self._charges.append(charge)
        if self.totals is not None:
            self.totals += charge.totals
        return charge.on_call

    def write_days(self) -> None:
        """Add the charges to the owner's daily usage, in the caller's transaction."""
        sums: dict[tuple[Any, ...], dict[str, Any]] = {}
        for charge in self._charges:
            amounts = sums.setdefault(tuple(charge.day.items()), dict.fromkeys(charge.amounts, 0))
            for name, amount in charge.amounts.items():
                amounts[name] += amount
        for day, amounts in sums.items():
            DailyUsage.add(dict(day), amounts)

    @property
    def has_unwritten(self) -> bool:
        return bool(self._charges)

    def clear(self) -> None:
        """Count the charges for `/metrics` and forget them: they are committed, or given up."""
        for charge in self._charges:
            charge.measure()
        self._charges = []

    def settings(self, model: str) -> ModelSettings | None:
        if model not in self._settings:
            self._settings[model] = settings_of(self.turn, model)
        return self._settings[model]

    def read_totals(self) -> None:
        self.totals = Totals.of_conversation(self.turn.conversation_id)

    def invalidate(self) -> None:
        self._settings = {}
        self.totals = None


@dataclasses.dataclass(frozen=True)
class Charge:
    """Usage and cost of one model call at current prices, as values for its row and for daily usage."""

    model: str
    counts: dict[str, int]
    on_call: dict[str, Any]
    day: dict[str, Any]
    amounts: dict[str, Any]
    totals: Totals

    @classmethod
    def of(cls, call: Call, usage: Usage, prices: ModelSettings | None) -> Charge:
        cost = cost_of(usage, prices)
        currency = prices.currency if prices and cost is not None else ""
        counts = {
            name: min(count, MAX_TOKENS)
            for name, count in dataclasses.asdict(usage).items()
            if name != "estimated"
        }
        on_call: dict[str, Any] = {name: getattr(call, name) + count for name, count in counts.items()}
        on_call["estimated"] = call.estimated or usage.estimated
        if cost is not None:
            on_call |= {"cost": (call.cost or Decimal(0)) + cost, "currency": currency}
        day = {
            "owner_id": call.turn.conversation.owner_id,
            "day": Reader.of(call.turn.conversation.owner).today(),
            "endpoint": call.endpoint,
            "model": call.model,
            "profile": call.turn.profile_snapshot.get("title", ""),
            "currency": currency,
        }
        amounts = {"calls": 1, "estimated_calls": int(usage.estimated), "cost": cost or Decimal(0)} | counts
        had_tokens = bool(call.input_tokens or call.output_tokens)
        has_tokens = bool(on_call["input_tokens"] or on_call["output_tokens"])
        costs = () if cost is None else ((currency, cost),)
        totals = Totals(
            int(has_tokens and not had_tokens),
            **counts,
            estimated=usage.estimated,
            costs=costs,
            unpriced=has_tokens and not costs,
        )
        return cls(call.model, counts, on_call, day, amounts, totals)

    def measure(self) -> None:
        for name, tokens in self.counts.items():
            measures.model_tokens.labels(self.model, name.removesuffix("_tokens")).inc(tokens)


def record_usage(call: SideCall, usage: Usage) -> None:
    """Record the usage of a side call, in the caller's transaction."""
    charge = Charge.of(call, usage, settings_of(call.turn, call.model))
    for name, value in charge.on_call.items():
        setattr(call, name, value)
    call.save(update_fields=list(charge.on_call))
    DailyUsage.add(charge.day, charge.amounts)
    charge.measure()


def record_side_call(
    turn: Turn, purpose: SideCall.Purpose, usage: Usage, endpoint: str = "", model: str = ""
) -> SideCall:
    """Record a finished model call outside the turn's steps, and its cost."""
    call: SideCall = turn.side_calls.create(
        purpose=purpose, endpoint=endpoint, model=model, ended_at=timezone.now()
    )
    record_usage(call, usage)
    return call


def cost_of(usage: Usage, prices: ModelSettings | None) -> Decimal | None:
    """The cost of the usage; None if no price is known.

    Cached input without its own price costs as much as other input; anything else without a price is free.
    """
    if prices is None or (prices.input_price is None and prices.output_price is None):
        return None
    cached = min(usage.cached_tokens, usage.input_tokens)
    input_price = prices.input_price or Decimal(0)
    cached_price = input_price if prices.cached_price is None else prices.cached_price
    output_price = prices.output_price or Decimal(0)
    total = (
        (usage.input_tokens - cached) * input_price
        + cached * cached_price
        + usage.output_tokens * output_price
    )
    return (total / MILLION).quantize(COST_PRECISION)
