"""What calls of models cost, written to their rows and to their owners' days."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import Any

from django.db.models import F
from django.db.models.functions import Coalesce
from django.utils import timezone

from chat.agent import Usage
from chat.live import measures
from chat.models import DailyUsage, ModelSettings, SideCall, Step, Turn

MILLION = 1_000_000
SMALLEST = Decimal("0.00000001")
MOST = 10**9  # tokens of one call; a column holds twice as many


def charge(call: Step | SideCall, usage: Usage) -> None:
    """Add what a call of the model took, at the prices of now, in the caller's transaction.

    A call that was made more than once, because its worker left, is charged each time.
    """
    prices = prices_of(call.turn, call.model)
    cost = cost_of(usage, prices)
    currency = prices.currency if prices and cost is not None else ""
    _add_to_call(call, usage, cost, currency)
    _add_to_day(call, usage, cost, currency)
    for name, tokens in _tokens(usage).items():
        measures.model_tokens.labels(call.model, name.removesuffix("_tokens")).inc(tokens)


def record_side_call(
    turn: Turn, purpose: SideCall.Purpose, usage: Usage, endpoint: str = "", model: str = ""
) -> SideCall:
    """Write down a call of the model beside the turn's steps, which has ended, and what it cost."""
    call: SideCall = turn.side_calls.create(
        purpose=purpose, endpoint=endpoint, model=model, ended_at=timezone.now()
    )
    charge(call, usage)
    return call


def prices_of(turn: Turn, model: str) -> ModelSettings | None:
    """The settings, with prices, of a model where the turn's profile asks it; None where nobody made any."""
    return ModelSettings.objects.filter(connection=connection_of(turn), model=model).first()


def connection_of(turn: Turn) -> int | None:
    """The key of the connection that the turn began with; None for the environment's endpoint."""
    key: int | None = turn.profile_then["connection"]["id"] if turn.profile_then else None
    return key


def cost_of(usage: Usage, prices: ModelSettings | None) -> Decimal | None:
    """What the usage costs; None where no price is known.

    Cached input without a price of its own costs as much as other input; what else has none costs nothing.
    """
    if prices is None or (prices.input_price is None and prices.output_price is None):
        return None
    cached = min(usage.cached_tokens, usage.input_tokens)
    asked = prices.input_price or Decimal(0)
    kept = asked if prices.cached_price is None else prices.cached_price
    said = prices.output_price or Decimal(0)
    total = (usage.input_tokens - cached) * asked + cached * kept + usage.output_tokens * said
    return (total / MILLION).quantize(SMALLEST)


def _add_to_call(call: Step | SideCall, usage: Usage, cost: Decimal | None, currency: str) -> None:
    changes: dict[str, Any] = {name: F(name) + tokens for name, tokens in _tokens(usage).items()}
    if usage.estimated:
        changes["estimated"] = True
    if cost is not None:
        changes |= {"cost": Coalesce("cost", Decimal(0)) + cost, "currency": currency}
    type(call)._default_manager.filter(pk=call.pk).update(**changes)


def _add_to_day(call: Step | SideCall, usage: Usage, cost: Decimal | None, currency: str) -> None:
    key = {
        "owner_id": call.turn.conversation.owner_id,
        "day": timezone.localdate(timezone=timezone.get_default_timezone()),
        "endpoint": call.endpoint,
        "model": call.model,
        "profile": call.turn.profile_then.get("title", ""),
        "currency": currency,
    }
    counts = {"calls": 1, "estimated_calls": int(usage.estimated), "cost": cost or Decimal(0)}
    DailyUsage.add(key, counts | _tokens(usage))


def _tokens(usage: Usage) -> dict[str, Any]:
    counts = dataclasses.asdict(usage)
    return {name: min(count, MOST) for name, count in counts.items() if name != "estimated"}
