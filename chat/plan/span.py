"""Spans: stretches of a turn's work that count for an item of the plan."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass, field

from chat.models import Step, ToolCall, Turn


@dataclass
class Span:
    """What happened in a turn from `write`, or from the turn's beginning where that is None, to `ended`.

    `ended` is None while it goes on, and `began` where no worker has begun with the turn. Of tool calls it
    has those that are work: no lists, be they accepted or refused.
    """

    turn: Turn
    began: datetime.datetime | None
    write: ToolCall | None = None
    ended: datetime.datetime | None = None
    steps: list[Step] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)


def seconds_of(spans: Iterable[Span], now: datetime.datetime) -> float:
    """How long the spans lasted until `now`, where they overlap counted once; backward clocks count 0."""
    seconds, until = 0.0, None
    for began, ended in sorted((span.began, span.ended or now) for span in spans if span.began):
        start = began if until is None else max(began, until)
        seconds += max(0.0, (ended - start).total_seconds())
        until = ended if until is None else max(until, ended)
    return seconds
