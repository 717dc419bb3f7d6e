"""Limits of a turn, and the retry policy for its model."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits that end a turn: model calls, tool calls, seconds, and identical calls in a row."""

    steps: int = 100
    tool_calls: int = 200
    seconds: float = 3600
    repeats: int = 5


@dataclass(frozen=True)
class Spent:
    """What a resumed turn has already used; `rounds` and `reminders` count for the todo reminders."""

    steps: int = 0
    tool_calls: int = 0
    seconds: float = 0
    rounds: int = 0
    reminders: int = 0


@dataclass(frozen=True)
class Retry:
    """When and how often a model call is retried.

    `attempts` counts all tries; none starts more than `seconds` after the first. Delays in seconds double
    from `first_delay`, with jitter, up to `max_delay`, even if the endpoint asks for more. A loading model is
    retried for `loading` seconds without counting (default: `Traits.first_byte_timeout`). A model silent for
    `notice` seconds is reported by a `ModelSilent`.
    """

    attempts: int = 3
    first_delay: float = 0.5
    max_delay: float = 60
    seconds: float = 120
    loading: float | None = None
    notice: float = 10

    def delay(self, attempt: int, retry_after: float | None) -> float:
        jitter = random.uniform(0.75, 1.25)  # noqa: S311 (spreads retries; not security)
        wait = self.first_delay * 2 ** (attempt - 1) * jitter if retry_after is None else retry_after
        return min(wait, self.max_delay)
