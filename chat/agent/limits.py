"""How much a turn may use, and how patient it is with its model."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What ends a turn: calls of the model, tool calls, seconds, and the same call so many times in a row."""

    steps: int = 100
    tool_calls: int = 200
    seconds: float = 3600
    repeats: int = 5


@dataclass(frozen=True)
class Spent:
    """What a turn that is taken up again has used already.

    `rounds` and `reminders` carry the count of the todo reminders on.
    """

    steps: int = 0
    tool_calls: int = 0
    seconds: float = 0
    rounds: int = 0
    reminders: int = 0


@dataclass(frozen=True)
class Retry:
    """When and how often a call of the model is tried again.

    `attempts` counts all tries; none begins more than `seconds` after the first. The wait doubles from
    `first_delay` seconds, with a little chance in it, and never passes `max_delay`, also when the endpoint
    asks for more. A model that is still being loaded is asked again for `loading` seconds without counting;
    by default for as long as its endpoint may send nothing (`Traits.patience`). A model that sends nothing
    for `notice` seconds is reported by a `ModelSilent`.
    """

    attempts: int = 3
    first_delay: float = 0.5
    max_delay: float = 60
    seconds: float = 120
    loading: float | None = None
    notice: float = 10

    def delay(self, attempt: int, asked: float | None) -> float:
        """Seconds to wait after a failed attempt (the first is 1); `asked` is what the endpoint wishes."""
        chance = random.uniform(0.75, 1.25)  # noqa: S311 (spreads retries, guards nothing)
        wait = self.first_delay * 2 ** (attempt - 1) * chance if asked is None else asked
        return min(wait, self.max_delay)
