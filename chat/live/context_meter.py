"""How full a model's context window is, and the conversation's usage so far."""

from __future__ import annotations

from dataclasses import dataclass

from chat.agent.model import known_traits
from chat.connections.model_clients import apply_traits, settings_of
from chat.models import Conversation, ModelSettings, Step
from chat.models.usage import Totals

HIGH, FULL = 70, 90  # per cent of the window


@dataclass(frozen=True)
class ContextMeter:
    """The tokens of the latest request and its reply; `window` is 0 if unknown."""

    used: int
    window: int
    estimated: bool
    model: str
    totals: Totals

    @property
    def percent(self) -> int:
        """How much of the window is used, from 0 to 100."""
        return min(100, round(100 * self.used / self.window)) if self.window else 0

    @property
    def level(self) -> str:
        if not self.window:
            return "unknown"
        return "full" if self.percent >= FULL else "high" if self.percent >= HIGH else "low"


def context_meter_of(conversation: Conversation) -> ContextMeter | None:
    """The conversation's meter; None before the first counted request. Reads the database."""
    steps = Step.objects.filter(turn__conversation=conversation.pk, turn__on_path=True).exclude(
        input_tokens=0
    )
    step = steps.select_related("turn").order_by("-pk").first()
    if step is None:
        return None
    totals = Totals.of_conversation(conversation.pk)
    return meter_after(step, settings_of(step.turn, step.model), totals)


def meter_after(step: Step, settings: ModelSettings | None, totals: Totals) -> ContextMeter:
    traits = known_traits(step.endpoint, step.model)
    if settings:
        traits = apply_traits(traits, settings.learned, settings.traits)
    return ContextMeter(
        used=step.input_tokens + step.output_tokens,
        window=traits.context_window,
        estimated=step.estimated,
        model=step.model,
        totals=totals,
    )
