"""A chart of usage: a bar a day, as rectangles on a plane of 1000 by 200 that is stretched to its place."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from chat.models.usage import TOKENS

WIDTH, HEIGHT = 1000, 200
FILLED = 0.72  # of a day's place
STEPS = 4  # lines across
ROUND = (Decimal(1), Decimal(2), Decimal(4), Decimal(6), Decimal(8), Decimal(10))


class Line(Protocol):
    """Something with an amount a day, and a colour of its own."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def colour(self) -> str:
        """The name of its colour."""

    def amount(self, day: datetime.date, of: str) -> Decimal:
        """How much of the measure `of` it has on the day."""


class Report(Protocol):
    """Days, in order, and the lines that share each day's bar."""

    @property
    def days(self) -> Sequence[datetime.date]:
        """One at least."""

    @property
    def shown(self) -> Sequence[Line]:
        """From the bottom of a bar up."""


@dataclass(frozen=True)
class Piece:
    """A line's part of a bar."""

    colour: str
    y: str
    height: str


@dataclass(frozen=True)
class Bar:
    """A day: its place, for a pointer to find, and its pieces from the bottom up."""

    day: datetime.date
    place: str
    x: str
    amount: Decimal
    parts: Sequence[tuple[str, Decimal]]
    pieces: Sequence[Piece]


@dataclass(frozen=True)
class Chart:
    """Bars, the values at the lines across from the top down, and the days to name beneath."""

    bars: Sequence[Bar]
    scale: Sequence[Decimal]
    named: Sequence[datetime.date]
    place_width: str
    bar_width: str


def chart_of(report: Report, of: str = TOKENS, *, whole: bool = False) -> Chart:
    """The chart of a report's amounts of the measure `of`; a `whole` scale has no fractions."""
    place = WIDTH / len(report.days)
    lines = report.shown
    most = max((sum(line.amount(day, of) for line in lines) for day in report.days), default=0)
    top = _whole(most) if whole and most <= 10 * STEPS else _round_up(Decimal(most))
    bars = [_bar(day, index * place, place, lines, of, top) for index, day in enumerate(report.days)]
    scale = [top * step / STEPS for step in reversed(range(STEPS + 1))]
    named = [report.days[0], report.days[len(report.days) // 2], report.days[-1]]
    return Chart(bars, scale, named, _short(place), _short(place * FILLED))


def _bar(day: datetime.date, left: float, place: float, lines: Sequence[Line], of: str, top: Decimal) -> Bar:
    amounts = [(line, line.amount(day, of)) for line in lines]
    parts = [(line.name, amount) for line, amount in amounts if amount]
    x = left + place * (1 - FILLED) / 2
    total = sum((amount for _name, amount in parts), Decimal(0))
    return Bar(day, _short(left), _short(x), total, parts, list(_pieces(amounts, top)))


def _pieces(amounts: Sequence[tuple[Line, Decimal]], top: Decimal) -> Iterator[Piece]:
    beneath = 0.0
    for line, amount in amounts:
        if amount:
            height = float(amount / top) * HEIGHT
            beneath += height
            yield Piece(line.colour, _short(HEIGHT - beneath), _short(height))


def _whole(most: Decimal | int) -> Decimal:
    """The top of a scale of small counts, so that every line across is one."""
    return Decimal(max(1, -(-int(most) // STEPS)) * STEPS)


def _round_up(most: Decimal) -> Decimal:
    """The top of the scale: a round number not below `most` that four steps divide well."""
    if most <= 0:
        return Decimal(STEPS)
    size = Decimal(1).scaleb(most.adjusted())
    return next(size * each for each in ROUND if size * each >= most)


def _short(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
