"""A step as it begins."""

from __future__ import annotations

from chat.agent import StepStarted
from chat.models import Step, Turn
from chat.models.text import clean


def step_row(turn: Turn, started: StepStarted) -> Step:
    """The row of the step that begins; one that its worker left unfinished begins anew, in the same row."""
    asked = {
        "reminder": started.reminder,
        "told": clean(started.told),
        "endpoint": started.endpoint[:500],
        "model": started.model[:200],
    }
    step, _new = turn.steps.update_or_create(number=started.step, defaults=asked)
    return step
