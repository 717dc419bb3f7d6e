"""What calls of models cost, written to their rows and to their owners' days."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import Any

from django.utils import timezone

from chat import measures
from chat.agent import Usage
from chat.connections.model_clients import settings_of
from chat.models import DailyUsage, ModelSettings, SideCall, Step, Turn
from chat.models.usage import Totals

MILLION = 1_000_000
SMALLEST = Decimal("0.00000001")
MOST = 10**9  # tokens of one call; a column holds twice as many

Call = Step | SideCall


class Account:
    """What the steps of a turn take. It is added up in memory and written along with the steps.

    The settings of the model, and what the conversation took before, are read once.
    """

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.totals: Totals | None = None  # what the conversation took, where they were read
        self._charges: list[Charge] = []  # that are on no day yet
        self._settings: dict[str, ModelSettings | None] = {}

    def charge(self, step: Step, usage: Usage) -> dict[str, Any]:
        """A call of the model took that much: the new values of its step, for the caller to save.

        A step that is asked for again is charged each time.
        """
        made = Charge.of(step, usage, self.settings(step.model))
        self._charges.append(made)
        if self.totals is not None:
            self.totals += made.more
        return made.on_call

    def write_days(self) -> None:
        """Write what the steps of this transaction took to the owner's day."""
        sums: dict[tuple[Any, ...], dict[str, Any]] = {}
        for made in self._charges:
            amounts = sums.setdefault(tuple(made.day.items()), dict.fromkeys(made.amounts, 0))
            for name, amount in made.amounts.items():
                amounts[name] += amount
        for day, amounts in sums.items():
            DailyUsage.add(dict(day), amounts)

    @property
    def is_open(self) -> bool:
        """Whether something of it is on no day yet."""
        return bool(self._charges)

    def written(self) -> None:
        """All of it is committed, or is given up."""
        for made in self._charges:
            made.measure()
        self._charges = []

    def settings(self, model: str) -> ModelSettings | None:
        """The settings of a model where the turn asks it, as they were when they were first needed."""
        if model not in self._settings:
            self._settings[model] = settings_of(self.turn, model)
        return self._settings[model]

    def read_totals(self) -> None:
        """Read what the conversation took, all that is saved included."""
        self.totals = Totals.of_conversation(self.turn.conversation_id)

    def forget(self) -> None:
        """Something else may have changed settings and totals."""
        self._settings = {}
        self.totals = None


@dataclasses.dataclass(frozen=True)
class Charge:
    """What one call of the model took, at the prices of now: as values of its row and for its owner's day."""

    model: str
    counts: dict[str, int]
    on_call: dict[str, Any]
    day: dict[str, Any]
    amounts: dict[str, Any]
    more: Totals

    @classmethod
    def of(cls, call: Call, usage: Usage, prices: ModelSettings | None) -> Charge:
        """The charge of usage that comes on top of what is on the row."""
        cost = cost_of(usage, prices)
        currency = prices.currency if prices and cost is not None else ""
        counts = {
            name: min(count, MOST) for name, count in dataclasses.asdict(usage).items() if name != "estimated"
        }
        on_call: dict[str, Any] = {name: getattr(call, name) + count for name, count in counts.items()}
        on_call["estimated"] = call.estimated or usage.estimated
        if cost is not None:
            on_call |= {"cost": (call.cost or Decimal(0)) + cost, "currency": currency}
        day = {
            "owner_id": call.turn.conversation.owner_id,
            "day": timezone.localdate(timezone=timezone.get_default_timezone()),
            "endpoint": call.endpoint,
            "model": call.model,
            "profile": call.turn.profile_snapshot.get("title", ""),
            "currency": currency,
        }
        amounts = {"calls": 1, "estimated_calls": int(usage.estimated), "cost": cost or Decimal(0)} | counts
        took = bool(call.input_tokens or call.output_tokens)
        takes = bool(on_call["input_tokens"] or on_call["output_tokens"])
        costs = () if cost is None else ((currency, cost),)
        more = Totals(int(takes and not took), **counts, estimated=usage.estimated, costs=costs)
        return cls(call.model, counts, on_call, day, amounts, more)

    def measure(self) -> None:
        """Count the tokens for `/metrics`."""
        for name, tokens in self.counts.items():
            measures.model_tokens.labels(self.model, name.removesuffix("_tokens")).inc(tokens)


def charge(call: SideCall, usage: Usage) -> None:
    """Add what a call beside the steps took, in the caller's transaction."""
    made = Charge.of(call, usage, settings_of(call.turn, call.model))
    for name, value in made.on_call.items():
        setattr(call, name, value)
    call.save(update_fields=list(made.on_call))
    DailyUsage.add(made.day, made.amounts)
    made.measure()


def record_side_call(
    turn: Turn, purpose: SideCall.Purpose, usage: Usage, endpoint: str = "", model: str = ""
) -> SideCall:
    """Write down a call of the model beside the turn's steps, which has ended, and what it cost."""
    call: SideCall = turn.side_calls.create(
        purpose=purpose, endpoint=endpoint, model=model, ended_at=timezone.now()
    )
    charge(call, usage)
    return call


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
