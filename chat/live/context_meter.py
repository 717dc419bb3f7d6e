"""How full a model's window is with a conversation, and what the conversation took so far."""

from __future__ import annotations

from dataclasses import dataclass

from chat.live.accounts import connection_of
from chat.live.endpoint import Endpoint
from chat.live.model_clients import traits_of
from chat.models import Conversation, Step
from chat.models.totals import Totals

HIGH, FULL = 70, 90  # per cent of the window


@dataclass(frozen=True)
class ContextMeter:
    """The tokens of the latest request and its reply; a `window` of 0 is not known."""

    used: int
    window: int
    estimated: bool
    model: str
    totals: Totals

    @property
    def percent(self) -> int:
        """How much of the window is taken, from 0 to 100."""
        return min(100, round(100 * self.used / self.window)) if self.window else 0

    @property
    def level(self) -> str:
        """What to make of that."""
        if not self.window:
            return "unknown"
        return "full" if self.percent >= FULL else "high" if self.percent >= HIGH else "low"


def context_meter_of(conversation: Conversation) -> ContextMeter | None:
    """The meter of a conversation; None where no request was counted yet. Reads the database."""
    steps = Step.objects.filter(turn__conversation=conversation.pk).exclude(input_tokens=0)
    step = steps.select_related("turn").order_by("-pk").first()
    if step is None:
        return None
    return ContextMeter(
        used=step.input_tokens + step.output_tokens,
        window=window_of(step),
        estimated=step.estimated,
        model=step.model,
        totals=Totals.of_conversation(conversation.pk),
    )


def window_of(step: Step) -> int:
    """The window of the model that the step asked, in tokens; 0 if it is not known."""
    endpoint = Endpoint(connection_of(step.turn), base_url=step.endpoint)
    return traits_of(endpoint, step.model).context_window
