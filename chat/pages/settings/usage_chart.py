"""A bar chart by day, as rectangles on a plane of 1000 by 200 that CSS stretches."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from chat.models.usage import TOKENS

WIDTH, HEIGHT = 1000, 200
BAR_SHARE = 0.72  # of a day's width
STEPS = 4  # of the scale
ROUND_FACTORS = (Decimal(1), Decimal(2), Decimal(4), Decimal(6), Decimal(8), Decimal(10))


class Line(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def colour(self) -> str: ...

    def amount(self, day: datetime.date, of: str) -> Decimal: ...


class Report(Protocol):
    @property
    def days(self) -> Sequence[datetime.date]: ...

    @property
    def shown(self) -> Sequence[Line]:
        """From the bottom of a bar up."""


@dataclass(frozen=True)
class Piece:
    colour: str
    y: str
    height: str


@dataclass(frozen=True)
class Bar:
    """One day; its pieces go from the bottom up. `place` is the left edge of its hover area."""

    day: datetime.date
    place: str
    x: str
    amount: Decimal
    parts: Sequence[tuple[str, Decimal]]
    pieces: Sequence[Piece]


@dataclass(frozen=True)
class Chart:
    """`scale` has the values from the top down, `named` the days with a label."""

    bars: Sequence[Bar]
    scale: Sequence[Decimal]
    named: Sequence[datetime.date]
    place_width: str
    bar_width: str


def chart_of(report: Report, of: str = TOKENS, *, whole: bool = False) -> Chart:
    """The chart of the measure `of`; with `whole` the scale has no fractions."""
    day_width = WIDTH / len(report.days)
    lines = report.shown
    highest = max((sum(line.amount(day, of) for line in lines) for day in report.days), default=0)
    top = _whole(highest) if whole and highest <= 10 * STEPS else _round_up(Decimal(highest))
    bars = [_bar(day, index * day_width, day_width, lines, of, top) for index, day in enumerate(report.days)]
    scale = [top * step / STEPS for step in reversed(range(STEPS + 1))]
    named = [report.days[0], report.days[len(report.days) // 2], report.days[-1]]
    return Chart(bars, scale, named, _short(day_width), _short(day_width * BAR_SHARE))


def _bar(
    day: datetime.date, left: float, day_width: float, lines: Sequence[Line], of: str, top: Decimal
) -> Bar:
    amounts = [(line, line.amount(day, of)) for line in lines]
    parts = [(line.name, amount) for line, amount in amounts if amount]
    x = left + day_width * (1 - BAR_SHARE) / 2
    total = sum((amount for _name, amount in parts), Decimal(0))
    return Bar(day, _short(left), _short(x), total, parts, list(_pieces(amounts, top)))


def _pieces(amounts: Sequence[tuple[Line, Decimal]], top: Decimal) -> Iterator[Piece]:
    bottom = 0.0
    for line, amount in amounts:
        if amount:
            height = float(amount / top) * HEIGHT
            bottom += height
            yield Piece(line.colour, _short(HEIGHT - bottom), _short(height))


def _whole(highest: Decimal | int) -> Decimal:
    """The top of a scale of small counts, so that every step is a whole number."""
    return Decimal(max(1, -(-int(highest) // STEPS)) * STEPS)


def _round_up(highest: Decimal) -> Decimal:
    """The top of the scale: a round number of at least `highest` that divides well by STEPS."""
    if highest <= 0:
        return Decimal(STEPS)
    magnitude = Decimal(1).scaleb(highest.adjusted())
    return next(magnitude * factor for factor in ROUND_FACTORS if magnitude * factor >= highest)


def _short(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
